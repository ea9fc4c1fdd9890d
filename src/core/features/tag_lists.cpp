#include "tag_lists.hpp"

#include "parallel.hpp"

#include <algorithm>
#include <initializer_list>

namespace chaffinch::features {

namespace {

constexpr std::int64_t lists_per_block = 32;
constexpr std::uint64_t edge = 0x51ed270b35a9d1cfULL; // before the first and after the last token or span
constexpr std::int64_t longest = 6;                   // larger lengths and counts share one bucket

std::uint64_t mixed(std::uint64_t h) {
    h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9ULL;
    h = (h ^ (h >> 27)) * 0x94d049bb133111ebULL;
    return h ^ (h >> 31);
}

enum Template : std::uint64_t {
    trigram = 1, fourgram, trigram_word, bigram_words, trigram_words, trigram_extras, // labels in a row
    phrase, phrase_lower_shape, span_length, span_ends, span_around, span_extras, span_extras_around, // one span
    span_bigram, span_trigram, span_heads, span_gap, // neighbouring spans
    spans_alike, word_alike, span_count, type_count, label_count // the whole sentence
};

struct TypedSpan {
    std::int64_t first, last; // of its tokens, both inside
    std::uint64_t span;       // the key of its type
};

// One candidate at a time: reads its spans, then emits a key for each feature.
class Candidate {
  public:
    Candidate(const TagLists& x, std::int64_t begin, std::int64_t T) : x_(x), begin_(begin), T_(T) {}

    void features(const std::int32_t* tags, std::vector<std::uint64_t>& keys) {
        tags_ = tags;
        keys_ = &keys;
        find_segments();
        for (std::int64_t t = 0; t <= T_; ++t) at(t);
        for (std::size_t s = 0; s <= segments_.size(); ++s) between(s);
        for (const TypedSpan& s : segments_) inside(s);
        whole();
    }

  private:
    void emit(Template which, std::initializer_list<std::uint64_t> seen) {
        std::uint64_t h = mixed(0x9e3779b97f4a7c15ULL * which);
        for (const std::uint64_t s : seen) h = mixed(h ^ s) + 0x9e3779b97f4a7c15ULL;
        keys_->push_back(h);
    }

    const TagLabel& label(std::int64_t t) const { return x_.labels[tags_[t]]; }
    std::uint64_t tag(std::int64_t t) const { return t < 0 || t >= T_ ? edge : label(t).key; }
    std::uint64_t word(std::int64_t t) const { return t < 0 || t >= T_ ? edge : x_.words[begin_ + t]; }
    std::uint64_t shape(std::int64_t t) const { return t < 0 || t >= T_ ? edge : x_.shapes[begin_ + t]; }
    std::uint64_t extra(std::int64_t t) const { return t < 0 || t >= T_ ? edge : x_.extra[begin_ + t]; }
    static std::uint64_t bounded(std::int64_t n) { return static_cast<std::uint64_t>(std::min(n, longest)); }

    void find_segments() {
        segments_.clear();
        for (std::int64_t t = 0; t < T_; ++t) {
            const TagLabel& here = label(t);
            if (here.span == 0) continue;
            const bool goes_on = t > 0 && !here.opens && label(t - 1).span == here.span && !label(t - 1).closes;
            if (goes_on) segments_.back().last = t;
            else segments_.push_back({t, t, here.span});
        }
    }

    void at(std::int64_t t) {
        const auto y = tag(t), y1 = tag(t - 1), y2 = tag(t - 2);
        emit(trigram, {y2, y1, y});
        emit(fourgram, {tag(t - 3), y2, y1, y});
        emit(trigram_word, {y2, y1, y, word(t)});
        emit(bigram_words, {y1, y, word(t - 1), word(t)});
        emit(trigram_words, {y2, y1, y, word(t - 2), word(t - 1)});
        if (!x_.extra.empty()) emit(trigram_extras, {y2, y1, y, extra(t - 2), extra(t - 1), extra(t)});
    }

    void inside(const TypedSpan& s) {
        std::uint64_t words = 0, shapes = 0, extras = 0;
        for (std::int64_t t = s.first; t <= s.last; ++t) {
            words = mixed(words ^ word(t)) + 1;
            shapes = mixed(shapes ^ shape(t)) + 1;
            if (!x_.extra.empty()) extras = mixed(extras ^ extra(t)) + 1;
        }
        const std::uint64_t length = bounded(s.last - s.first + 1);
        emit(phrase, {s.span, words});
        emit(phrase_lower_shape, {s.span, shapes, s.first == 0});
        emit(span_length, {s.span, length});
        emit(span_ends, {s.span, word(s.first), word(s.last)});
        emit(span_around, {s.span, word(s.first - 1), word(s.last + 1)});
        if (!x_.extra.empty()) {
            emit(span_extras, {s.span, extras});
            emit(span_extras_around, {s.span, extras, extra(s.first - 1), extra(s.last + 1)});
        }
    }

    // The span s and those before it; the last call stands behind the last span.
    void between(std::size_t s) {
        auto type = [&](std::size_t back) { return s < back || s - back >= segments_.size() ? edge : segments_[s - back].span; };
        auto head = [&](std::size_t back) {
            return s < back || s - back >= segments_.size() ? edge : word(segments_[s - back].last);
        };
        emit(span_bigram, {type(1), type(0)});
        emit(span_trigram, {type(2), type(1), type(0)});
        emit(span_heads, {type(1), head(1), type(0), head(0)});
        if (s > 0 && s < segments_.size()) {
            const std::int64_t gap = segments_[s].first - segments_[s - 1].last - 1;
            emit(span_gap, {type(1), type(0), bounded(gap), gap == 1 ? word(segments_[s].first - 1) : 0});
        }
    }

    void whole() {
        emit(span_count, {bounded(static_cast<std::int64_t>(segments_.size())), bounded(T_)});
        for (std::size_t a = 0; a < segments_.size(); ++a) {
            std::int64_t same = 0;
            for (std::size_t b = 0; b < a; ++b) {
                same += segments_[a].span == segments_[b].span;
                if (word(segments_[a].last) == word(segments_[b].last))
                    emit(spans_alike, {std::min(segments_[a].span, segments_[b].span),
                                       std::max(segments_[a].span, segments_[b].span)});
            }
            emit(type_count, {segments_[a].span, bounded(same)});
        }
        // The same word twice: does it have the same label?
        for (std::int64_t a = 1; a < T_; ++a)
            for (std::int64_t b = std::max<std::int64_t>(0, a - 12); b < a; ++b)
                if (word(a) == word(b)) emit(word_alike, {tag(b), tag(a), shape(a)});
    }

    const TagLists& x_;
    std::int64_t begin_, T_;
    const std::int32_t* tags_ = nullptr;
    std::vector<std::uint64_t>* keys_ = nullptr;
    std::vector<TypedSpan> segments_;
};

struct Found {
    std::uint64_t key;
    std::int64_t candidate;
    float count;
};

// The features of one list by candidate and key, without those that all candidates share.
void list_features(const TagLists& x, std::int64_t n, std::int64_t offset, std::vector<Found>& out) {
    const std::int64_t K = x.lists[n + 1] - x.lists[n], T = x.sentences[n + 1] - x.sentences[n];
    Candidate candidate(x, x.sentences[n], T);
    std::vector<std::uint64_t> keys;
    std::vector<Found> every;
    for (std::int64_t k = 0; k < K; ++k) {
        keys.clear();
        candidate.features(x.tags.data() + offset + k * T, keys);
        std::ranges::sort(keys);
        for (std::size_t a = 0; a < keys.size();) {
            std::size_t b = a;
            while (b < keys.size() && keys[b] == keys[a]) ++b;
            every.push_back({keys[a], k, static_cast<float>(b - a)});
            a = b;
        }
    }
    std::ranges::sort(every, [](const Found& a, const Found& b) {
        return a.key != b.key ? a.key < b.key : a.candidate < b.candidate;
    });
    const std::size_t kept = out.size();
    for (std::size_t a = 0; a < every.size();) {
        std::size_t b = a;
        bool alike = true;
        for (; b < every.size() && every[b].key == every[a].key; ++b) alike &= every[b].count == every[a].count;
        if (!alike || static_cast<std::int64_t>(b - a) < K) out.insert(out.end(), every.begin() + static_cast<std::ptrdiff_t>(a), every.begin() + static_cast<std::ptrdiff_t>(b));
        a = b;
    }
    std::sort(out.begin() + static_cast<std::ptrdiff_t>(kept), out.end(), [](const Found& a, const Found& b) {
        return a.candidate != b.candidate ? a.candidate < b.candidate : a.key < b.key;
    });
    for (std::size_t a = kept; a < out.size(); ++a) out[a].candidate += x.lists[n];
}

} // namespace

std::uint64_t string_key(std::string_view text) {
    std::uint64_t h = 0xcbf29ce484222325ULL;
    for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    return mixed(h);
}

KeyedRows tag_list_features(const TagLists& x, std::size_t threads) {
    const auto N = static_cast<std::int64_t>(x.lists.size()) - 1;
    std::vector<std::int64_t> offsets(N + 1, 0);
    for (std::int64_t n = 0; n < N; ++n)
        offsets[n + 1] = offsets[n] + (x.lists[n + 1] - x.lists[n]) * (x.sentences[n + 1] - x.sentences[n]);
    const std::size_t blocks = static_cast<std::size_t>((N + lists_per_block - 1) / lists_per_block);
    std::vector<std::vector<Found>> found(blocks);
    machine::parallel_blocks(blocks, threads, [&](std::size_t b) {
        const std::int64_t first = static_cast<std::int64_t>(b) * lists_per_block;
        for (std::int64_t n = first; n < std::min(N, first + lists_per_block); ++n)
            list_features(x, n, offsets[n], found[b]);
    });
    KeyedRows rows;
    rows.ptr.assign(static_cast<std::size_t>(N > 0 ? x.lists[N] : 0) + 1, 0);
    for (const auto& block : found)
        for (const Found& f : block) {
            ++rows.ptr[f.candidate + 1];
            rows.keys.push_back(f.key);
            rows.values.push_back(f.count);
        }
    for (std::size_t c = 1; c < rows.ptr.size(); ++c) rows.ptr[c] += rows.ptr[c - 1];
    return rows;
}

} // namespace chaffinch::features
