#include "fasttext.hpp"

#include "clones.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <stdexcept>

namespace chaffinch::model {

namespace {

constexpr std::string_view end_of_text = "</s>", label_prefix = "__label__";
constexpr std::size_t centroids_per_part = 256;
constexpr std::uint64_t ngram_factor = 116049371;
constexpr std::size_t ahead = 4; // rows between prefetching one and adding it

// FNV-1a; bytes are signed, as in fastText.
struct Hash {
    std::uint32_t value = 2166136261u;
    void add(char c) {
        value ^= static_cast<std::uint32_t>(static_cast<std::int32_t>(static_cast<std::int8_t>(c)));
        value *= 16777619u;
    }
    static std::uint32_t of(std::string_view s) {
        Hash h;
        for (const char c : s) h.add(c);
        return h.value;
    }
};

bool is_space(char c) {
    return c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '\v' || c == '\f' || c == '\0';
}

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

std::size_t slots_for(std::size_t n) { return std::bit_ceil(2 * n + 1); }

void expect(bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(what);
}

float log_of(float p) { return static_cast<float>(std::log(static_cast<double>(p) + 1e-5)); }

constexpr int sigmoid_steps = 512;
constexpr float sigmoid_limit = 8;

float table_sigmoid(float x) {
    static const std::array<float, sigmoid_steps + 1> table = [] {
        std::array<float, sigmoid_steps + 1> made{};
        for (int i = 0; i <= sigmoid_steps; ++i) {
            const float at = static_cast<float>(i * 16) / sigmoid_steps - sigmoid_limit;
            made[static_cast<std::size_t>(i)] = static_cast<float>(1.0 / (1.0 + static_cast<double>(std::exp(-at))));
        }
        return made;
    }();
    if (!(x >= -sigmoid_limit)) return 0;
    if (x > sigmoid_limit) return 1;
    return table[static_cast<std::size_t>((x + sigmoid_limit) * sigmoid_steps / sigmoid_limit / 2)];
}

// A binary heap with the worst score in front. Among equal scores the order is that of the GNU library's heap, which
// fastText's answers show; the standard does not fix it.
class WorstFirst {
  public:
    explicit WorstFirst(FastText::Ranked& entries) : h_(entries) {}

    void push(std::pair<float, std::int32_t> entry) {
        h_.push_back(entry);
        rise(h_.size() - 1, entry);
    }
    void pop() {
        take_out(h_.size());
        h_.pop_back();
    }
    void sort() { // best first
        for (std::size_t n = h_.size(); n > 1; --n) take_out(n);
    }

  private:
    void rise(std::size_t hole, std::pair<float, std::int32_t> entry) {
        while (hole > 0 && h_[(hole - 1) / 2].first > entry.first) {
            h_[hole] = h_[(hole - 1) / 2];
            hole = (hole - 1) / 2;
        }
        h_[hole] = entry;
    }
    // The front of the first n goes to place n - 1; the hole sinks to a leaf before the last entry rises from there.
    void take_out(std::size_t n) {
        const std::pair<float, std::int32_t> last = h_[n - 1];
        h_[n - 1] = h_[0];
        if (n == 1) return;
        const std::size_t left = n - 1;
        std::size_t hole = 0;
        while (2 * hole + 2 < left) {
            const std::size_t right = 2 * hole + 2;
            const std::size_t worse = h_[right].first > h_[right - 1].first ? right - 1 : right;
            h_[hole] = h_[worse];
            hole = worse;
        }
        if (2 * hole + 2 == left) {
            h_[hole] = h_[left - 1];
            hole = left - 1;
        }
        rise(hole, last);
    }

    FastText::Ranked& h_;
};

void offer(FastText::Ranked& heap, std::size_t k, float score, std::int32_t label) {
    WorstFirst worst(heap);
    worst.push({score, label});
    if (heap.size() > k) worst.pop();
}

CHAFFINCH_HOT void add_to(const float* from, std::int64_t D, float* x) {
    for (std::int64_t d = 0; d < D; ++d) x[d] += from[d];
}

// x += scale * the centroids of a row's codes, in parts of two numbers, which is how fastText divides vectors by default
CHAFFINCH_HOT void add_pairs(const std::uint8_t* codes, const float* centroids, std::int64_t D, float scale, float* x) {
    constexpr std::int64_t block = 2 * static_cast<std::int64_t>(centroids_per_part);
    std::int64_t p = 0;
    for (; 2 * p + 1 < D; ++p) {
        const float* c = centroids + p * block + 2 * codes[p];
        x[2 * p] += scale * c[0];
        x[2 * p + 1] += scale * c[1];
    }
    if (2 * p < D) x[2 * p] += scale * centroids[p * block + codes[p]];
}

// out[y] = sum over d of h[d] * columns[d][y], in the order of d
CHAFFINCH_HOT void dots_by_column(const float* columns, const float* h, std::int64_t D, std::int64_t Y, float* out) {
    std::fill(out, out + Y, 0.0f);
    for (std::int64_t d = 0; d < D; ++d) {
        const float factor = h[d];
        const float* column = columns + d * Y;
        for (std::int64_t y = 0; y < Y; ++y) out[y] += column[y] * factor;
    }
}

} // namespace

float VectorRows::norm(std::int64_t row) const {
    return norm_codes.empty() ? 1.0f : norms[norm_codes[static_cast<std::size_t>(row)]];
}

void VectorRows::add(std::int64_t row, float* x) const {
    if (!dense.empty()) return add_to(dense.data() + row * D, D, x);
    const std::int64_t P = parts();
    const float scale = norm(row);
    if (part == 2) return add_pairs(codes.data() + row * P, centroids.data(), D, scale, x);
    for (std::int64_t p = 0; p < P; ++p) {
        const std::int64_t begin = p * part, size = std::min(part, D - begin);
        const float* c = centroids.data() + begin * static_cast<std::int64_t>(centroids_per_part) +
                         codes[static_cast<std::size_t>(row * P + p)] * size;
        for (std::int64_t d = 0; d < size; ++d) x[begin + d] += scale * c[d];
    }
}

void VectorRows::put_unscaled(std::int64_t row, float* x) const {
    if (!dense.empty()) {
        std::copy_n(dense.data() + row * D, D, x);
        return;
    }
    const std::int64_t P = parts();
    for (std::int64_t p = 0; p < P; ++p) {
        const std::int64_t begin = p * part, size = std::min(part, D - begin);
        std::copy_n(centroids.data() + begin * static_cast<std::int64_t>(centroids_per_part) +
                        codes[static_cast<std::size_t>(row * P + p)] * size,
                    size, x + begin);
    }
}

FastText::FastText(const FastTextSettings& settings, std::span<const std::uint8_t> text,
                   std::span<const std::int64_t> ptr, std::span<const std::int64_t> counts,
                   std::span<const std::int32_t> buckets, std::span<const std::int32_t> bucket_rows,
                   const VectorRows& input, const VectorRows& output)
    : settings_(settings), text_(text), ptr_(ptr), input_(input), output_(output) {
    const FastTextSettings& s = settings_;
    expect(s.words >= 0 && s.labels >= 1 && s.shortest >= 0 && s.longest >= 0 && s.word_ngrams >= 0,
           "its counts of words, labels or n-grams are negative, or it has no label");
    const std::int64_t tokens = static_cast<std::int64_t>(s.words) + s.labels;
    expect(static_cast<std::int64_t>(ptr.size()) == tokens + 1 && ptr.front() == 0 &&
               ptr.back() == static_cast<std::int64_t>(text.size()) && std::ranges::is_sorted(ptr),
           "the bounds of its words do not fit their text");
    expect(input.D >= 1 && input.D == output.D, "its two matrices have different numbers of columns");
    expect(static_cast<std::int64_t>(counts.size()) == s.labels, "its labels lack counts");
    const std::int64_t outputs = s.output == LabelOutput::tree ? std::max(0, s.labels - 1) : s.labels;
    expect(output.rows >= outputs, "its output matrix lacks rows of labels");
    expect(input.rows >= s.words, "its input matrix lacks rows of words");
    const bool hashed = s.longest > 0 || s.word_ngrams > 1;
    expect(!hashed || s.buckets > 0 || (s.pruned && buckets.empty()), "it has n-grams and no buckets for them");
    expect(!hashed || s.pruned || input.rows >= static_cast<std::int64_t>(s.words) + s.buckets,
           "its input matrix lacks rows of n-grams");
    expect(buckets.size() == bucket_rows.size(), "its buckets and their rows differ in number");
    for (const std::int32_t row : bucket_rows)
        expect(row >= 0 && s.words + static_cast<std::int64_t>(row) < input.rows, "a bucket has a row beyond the matrix");
    build_index();
    build_buckets(buckets, bucket_rows);
    if (s.output == LabelOutput::tree) build_tree(counts);
    build_output();
}

std::string_view FastText::token(std::int32_t id) const {
    const auto begin = static_cast<std::size_t>(ptr_[static_cast<std::size_t>(id)]);
    const auto end = static_cast<std::size_t>(ptr_[static_cast<std::size_t>(id) + 1]);
    return {reinterpret_cast<const char*>(text_.data()) + begin, end - begin};
}

void FastText::build_index() {
    const std::int32_t tokens = settings_.words + settings_.labels;
    index_.assign(slots_for(static_cast<std::size_t>(tokens)), -1);
    for (std::int32_t id = 0; id < tokens; ++id) {
        std::size_t at = Hash::of(token(id)) & (index_.size() - 1);
        while (index_[at] >= 0) {
            expect(token(index_[at]) != token(id), "a word or label occurs twice in its dictionary");
            at = (at + 1) & (index_.size() - 1);
        }
        index_[at] = id;
    }
}

std::int32_t FastText::find(std::string_view word) const {
    std::size_t at = Hash::of(word) & (index_.size() - 1);
    while (index_[at] >= 0 && token(index_[at]) != word) at = (at + 1) & (index_.size() - 1);
    return index_[at];
}

void FastText::build_buckets(std::span<const std::int32_t> buckets, std::span<const std::int32_t> rows) {
    if (!settings_.pruned) return;
    kept_.assign(slots_for(buckets.size()), {0, -1});
    for (std::size_t k = 0; k < buckets.size(); ++k) {
        const auto bucket = static_cast<std::uint32_t>(buckets[k]);
        std::size_t at = (bucket * 2654435769u) & (kept_.size() - 1);
        while (kept_[at].second >= 0) {
            expect(kept_[at].first != bucket, "a bucket of n-grams is listed twice");
            at = (at + 1) & (kept_.size() - 1);
        }
        kept_[at] = {bucket, rows[k]};
    }
}

std::int32_t FastText::bucket_row(std::uint32_t bucket) const {
    if (bucket > 0x7fffffffu) return -1;
    if (!settings_.pruned) return settings_.words + static_cast<std::int32_t>(bucket);
    std::size_t at = (bucket * 2654435769u) & (kept_.size() - 1);
    while (kept_[at].second >= 0 && kept_[at].first != bucket) at = (at + 1) & (kept_.size() - 1);
    return kept_[at].second < 0 ? -1 : settings_.words + kept_[at].second;
}

void FastText::build_tree(std::span<const std::int64_t> counts) {
    constexpr std::int64_t not_yet = 1000000000000000; // the count of a node that is not made yet
    const auto Y = counts.size();
    std::vector<std::int64_t> count(2 * Y - 1, not_yet);
    std::ranges::copy(counts, count.begin());
    tree_.assign(2 * Y - 1, {});
    std::int64_t total = 0;
    for (const std::int64_t c : counts) {
        expect(c >= 0 && c < not_yet - total, "the counts of its labels make no tree");
        total += c;
    }
    std::ptrdiff_t leaf = static_cast<std::ptrdiff_t>(Y) - 1;
    std::size_t node = Y;
    for (std::size_t i = Y; i < 2 * Y - 1; ++i) {
        std::array<std::size_t, 2> two{};
        for (std::size_t& one : two) {
            if (leaf >= 0 && count[static_cast<std::size_t>(leaf)] < count[node]) one = static_cast<std::size_t>(leaf--);
            else one = node++;
            expect(one < i, "the counts of its labels make no tree");
        }
        tree_[i] = {static_cast<std::int32_t>(two[0]), static_cast<std::int32_t>(two[1])};
        count[i] = count[two[0]] + count[two[1]];
    }
}

void FastText::build_output() {
    const auto D = static_cast<std::size_t>(output_.D);
    const bool tree = settings_.output == LabelOutput::tree;
    const auto Y = static_cast<std::size_t>(tree ? settings_.labels - 1 : settings_.labels);
    by_column_.resize(D * Y);
    std::vector<float> row(D);
    for (std::size_t y = 0; y < Y; ++y) {
        output_.put_unscaled(static_cast<std::int64_t>(y), row.data());
        for (std::size_t d = 0; d < D; ++d) by_column_[tree ? y * D + d : d * Y + y] = row[d];
        if (output_.dense.empty()) label_norms_.push_back(output_.norm(static_cast<std::int64_t>(y)));
    }
}

template <class Sink> void FastText::each_subword(std::string_view word, Sink&& sink) const {
    const auto longest = static_cast<std::size_t>(settings_.longest);
    for (std::size_t i = 0; i < word.size(); ++i) {
        if (continues(word[i])) continue;
        Hash hash;
        for (std::size_t j = i, n = 1; j < word.size() && n <= longest; ++n) {
            hash.add(word[j++]);
            while (j < word.size() && continues(word[j])) hash.add(word[j++]);
            if (n < static_cast<std::size_t>(settings_.shortest) || (n == 1 && (i == 0 || j == word.size()))) continue;
            const std::int32_t row = bucket_row(hash.value % settings_.buckets);
            if (row >= 0) sink(row, word.substr(i, j - i));
        }
    }
}

// Calls sink(row, kind, name, first token, last token); `name` is empty for n-grams of words.
template <class Sink> void FastText::each_row(std::string_view text, Sink&& sink) const {
    std::vector<std::int32_t> hashes;
    std::string marked;
    const auto token_read = [&](std::string_view word) {
        const std::int32_t id = find(word);
        if (id >= settings_.words || (id < 0 && word.starts_with(label_prefix))) return;
        const auto at = hashes.size();
        hashes.push_back(static_cast<std::int32_t>(Hash::of(word)));
        if (id >= 0) sink(id, RowKind::word, word, at, at);
        if (settings_.longest == 0 || settings_.buckets == 0 || word == end_of_text) return;
        marked.assign(1, '<').append(word).append(1, '>');
        each_subword(marked, [&](std::int32_t row, std::string_view gram) { sink(row, RowKind::characters, gram, at, at); });
    };
    bool ended = false;
    for (std::size_t i = 0; i < text.size() && !ended;) {
        while (i < text.size() && is_space(text[i])) ++i;
        std::size_t end = i;
        while (end < text.size() && !is_space(text[end])) ++end;
        if (end == i) break;
        token_read(text.substr(i, end - i));
        ended = text.substr(i, end - i) == end_of_text;
        i = end;
    }
    if (!ended) token_read(end_of_text);
    if (settings_.word_ngrams < 2 || settings_.buckets == 0) return;
    const auto n = static_cast<std::size_t>(settings_.word_ngrams);
    for (std::size_t i = 0; i < hashes.size(); ++i) {
        auto hash = static_cast<std::uint64_t>(static_cast<std::int64_t>(hashes[i]));
        for (std::size_t j = i + 1; j < hashes.size() && j < i + n; ++j) {
            hash = hash * ngram_factor + static_cast<std::uint64_t>(static_cast<std::int64_t>(hashes[j]));
            const std::int32_t row = bucket_row(static_cast<std::uint32_t>(hash % settings_.buckets));
            if (row >= 0) sink(row, RowKind::ngram, std::string_view(), i, j);
        }
    }
}

void FastText::rows(std::string_view text, std::vector<std::int32_t>& out) const {
    out.clear();
    each_row(text, [&](std::int32_t row, RowKind, std::string_view, std::size_t, std::size_t) { out.push_back(row); });
}

std::vector<NamedRow> FastText::named_rows(std::string_view text) const {
    std::vector<NamedRow> out;
    std::vector<std::string> tokens; // those that count, as n-grams of words number them
    for (std::size_t i = 0; i < text.size();) {
        while (i < text.size() && is_space(text[i])) ++i;
        std::size_t end = i;
        while (end < text.size() && !is_space(text[end])) ++end;
        const std::string_view word = text.substr(i, end - i);
        i = end;
        const std::int32_t id = find(word);
        if (!word.empty() && !(id >= settings_.words || (id < 0 && word.starts_with(label_prefix)))) tokens.emplace_back(word);
    }
    tokens.emplace_back(end_of_text);
    each_row(text, [&](std::int32_t row, RowKind kind, std::string_view name, std::size_t first, std::size_t last) {
        NamedRow made{row, kind, std::string(name)};
        if (kind == RowKind::ngram)
            for (std::size_t t = first; t <= last; ++t) made.name.append(t > first ? 1 : 0, ' ').append(tokens[t]);
        out.push_back(std::move(made));
    });
    return out;
}

std::vector<NamedRow> FastText::named_subwords(std::string_view word) const {
    std::vector<NamedRow> out;
    const std::int32_t id = find(word);
    if (id >= 0 && id < settings_.words) out.push_back({id, RowKind::word, std::string(word)});
    if (word == end_of_text || settings_.longest == 0 || settings_.buckets == 0) return out;
    std::string marked(1, '<');
    marked.append(word).append(1, '>');
    each_subword(marked, [&](std::int32_t row, std::string_view gram) {
        out.push_back({row, RowKind::characters, std::string(gram)});
    });
    return out;
}

void FastText::hidden(std::span<const std::int32_t> rows, std::span<float> h) const {
    std::ranges::fill(h, 0.0f);
    const auto D = static_cast<std::size_t>(input_.D);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (!input_.dense.empty() && i + ahead < rows.size()) {
            const float* next = input_.dense.data() + static_cast<std::size_t>(rows[i + ahead]) * D;
            for (std::size_t d = 0; d < D; d += 16) __builtin_prefetch(next + d);
        }
        input_.add(rows[i], h.data());
    }
    const auto share = static_cast<float>(1.0 / static_cast<double>(rows.size()));
    if (!rows.empty())
        for (float& x : h) x *= share;
}

void FastText::dots(std::span<const float> h, std::span<float> out) const {
    const auto Y = static_cast<std::int64_t>(out.size());
    dots_by_column(by_column_.data(), h.data(), input_.D, Y, out.data());
    if (!label_norms_.empty())
        for (std::size_t y = 0; y < out.size(); ++y) out[y] *= label_norms_[y];
}

void FastText::probabilities(std::span<const float> h, std::span<float> out) const {
    dots(h, out);
    if (settings_.output == LabelOutput::sigmoid) {
        for (float& x : out) x = table_sigmoid(x);
        return;
    }
    const float most = std::ranges::max(out);
    float z = 0;
    for (float& x : out) z += x = static_cast<float>(std::exp(static_cast<double>(x - most)));
    for (float& x : out) x /= z;
}

float FastText::node_probability(std::int32_t node, const float* h) const {
    const auto at = static_cast<std::size_t>(node - settings_.labels);
    const float* u = by_column_.data() + at * static_cast<std::size_t>(input_.D);
    float f = 0;
    for (std::int64_t d = 0; d < input_.D; ++d) f += u[d] * h[static_cast<std::size_t>(d)];
    if (!label_norms_.empty()) f *= label_norms_[at];
    return static_cast<float>(1.0 / static_cast<double>(1 + std::exp(-f)));
}

void FastText::scores(std::span<const float> h, std::span<float> out) const {
    if (settings_.output != LabelOutput::tree) {
        probabilities(h, out);
        for (float& x : out) x = log_of(x);
        return;
    }
    std::vector<std::pair<float, std::int32_t>> open{{0.0f, static_cast<std::int32_t>(tree_.size()) - 1}};
    while (!open.empty()) {
        const auto [score, node] = open.back();
        open.pop_back();
        const HuffmanNode& here = tree_[static_cast<std::size_t>(node)];
        if (here.left < 0) {
            out[static_cast<std::size_t>(node)] = score;
            continue;
        }
        const float f = node_probability(node, h.data());
        open.emplace_back(score + log_of(f), here.right);
        open.emplace_back(score + log_of(static_cast<float>(1.0 - static_cast<double>(f))), here.left);
    }
}

void FastText::best(std::span<const float> h, std::int32_t k, float threshold, std::span<float> room, Ranked& out) const {
    out.clear();
    const auto most = static_cast<std::size_t>(k);
    if (settings_.output != LabelOutput::tree) {
        probabilities(h, room);
        for (std::size_t y = 0; y < room.size(); ++y) {
            if (room[y] < threshold) continue;
            const float score = log_of(room[y]);
            if (out.size() < most || !(score < out.front().first)) offer(out, most, score, static_cast<std::int32_t>(y));
        }
    } else {
        const float least = log_of(threshold);
        std::vector<std::pair<float, std::int32_t>> open{{0.0f, static_cast<std::int32_t>(tree_.size()) - 1}};
        while (!open.empty()) { // depth first, left before right
            const auto [score, node] = open.back();
            open.pop_back();
            if (score < least || (out.size() == most && score < out.front().first)) continue;
            const HuffmanNode& here = tree_[static_cast<std::size_t>(node)];
            if (here.left < 0) {
                offer(out, most, score, node);
                continue;
            }
            const float f = node_probability(node, h.data());
            open.emplace_back(score + log_of(f), here.right);
            open.emplace_back(score + log_of(static_cast<float>(1.0 - static_cast<double>(f))), here.left);
        }
    }
    WorstFirst(out).sort();
}

FastText::Paths FastText::paths() const {
    const auto Y = static_cast<std::size_t>(settings_.labels);
    std::vector<std::int32_t> parent(tree_.size(), -1);
    std::vector<std::int8_t> sign(tree_.size(), 0);
    for (std::size_t i = Y; i < tree_.size(); ++i) {
        parent[static_cast<std::size_t>(tree_[i].left)] = parent[static_cast<std::size_t>(tree_[i].right)] =
            static_cast<std::int32_t>(i);
        sign[static_cast<std::size_t>(tree_[i].left)] = -1;
        sign[static_cast<std::size_t>(tree_[i].right)] = 1;
    }
    Paths out;
    out.ptr.push_back(0);
    for (std::size_t y = 0; y < Y && !tree_.empty(); ++y) {
        for (std::size_t at = y; parent[at] >= 0; at = static_cast<std::size_t>(parent[at])) {
            out.rows.push_back(parent[at] - settings_.labels);
            out.signs.push_back(sign[at]);
        }
        out.ptr.push_back(static_cast<std::int64_t>(out.rows.size()));
    }
    return out;
}

} // namespace chaffinch::model
