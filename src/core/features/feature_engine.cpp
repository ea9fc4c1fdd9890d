#include "feature_engine.hpp"

#include "parallel.hpp"

#include <algorithm>

namespace chaffinch::features {

FeatureEngine::FeatureEngine(Design design) : design_(std::move(design)), values_(design_.words.size()) {
    of_source_.resize(static_cast<std::size_t>(design_.sources));
    for (std::size_t c = 0; c < design_.words.size(); ++c) of_source_[design_.words[c].source].push_back(c);
    for (const std::string &w : design_.prepositions) prepositions_.intern(w);
    for (const std::string &w : design_.triggers) triggers_.intern(w);
    combinations_ = design_.phrases.combinations();
    for (const SentenceColumn &column : design_.sentences) {
        fixed_.push_back(fixed_values(column.function, design_.triggers, design_.lists, combinations_));
        reads_traits_ = true;
        reads_runs_ |= column.function == SentenceFunction::run;
        reads_elsewhere_ |= looks_elsewhere(column.function);
        reads_phrases_ |=
            column.function == SentenceFunction::phrases || column.function == SentenceFunction::phrases_list;
    }
    margins_.marked = design_.marked;
    for (std::size_t i = 0; i < design_.templates.size(); ++i) {
        const Template &t = design_.templates[i];
        for (const Atom &atom : t.atoms) {
            margins_.left = std::max(margins_.left, -atom.offset);
            margins_.right = std::max(margins_.right, atom.offset);
        }
        (t.label_offsets.empty() ? plain_ : labelled_).push_back(i);
        if (t.label_offsets.empty()) slots_ += t.window ? t.atoms.size() : 1;
    }
    state_.observation_ptr.assign(labelled_.size() + 1, 0);
    state_.join_ptr.assign(1, 0);
}

std::size_t FeatureEngine::index_bytes() const {
    std::size_t bytes = 0;
    for (const TemplateTables &t : tables_)
        for (const KeyTable &table : t.tables) bytes += table.bytes();
    return bytes + state_.feature_key.size() * (sizeof(std::uint64_t) + sizeof(std::uint16_t));
}

std::int32_t FeatureEngine::n_values(std::size_t column) const {
    const std::size_t W = values_.size();
    if (column < W) return values_[column].size();
    const SentenceColumn &sentence = design_.sentences[column - W];
    switch (sentence.function) {
    case SentenceFunction::first_word:
    case SentenceFunction::last_word:
    case SentenceFunction::elsewhere_first:
        return values_[sentence.argument].size();
    case SentenceFunction::last_punctuation:
    case SentenceFunction::last_preposition:
    case SentenceFunction::elsewhere_before:
    case SentenceFunction::elsewhere_after:
        return values_[sentence.argument].size() + 1;
    case SentenceFunction::run:
        return runs_.size();
    default:
        return static_cast<std::int32_t>(fixed_[column - W].size());
    }
}

bool FeatureEngine::has_none(std::size_t column) const {
    if (column < values_.size()) return false;
    switch (design_.sentences[column - values_.size()].function) {
    case SentenceFunction::last_punctuation:
    case SentenceFunction::last_preposition:
    case SentenceFunction::elsewhere_before:
    case SentenceFunction::elsewhere_after:
        return true;
    default:
        return false;
    }
}

// Words -------------------------------------------------------------------------------------------------

Words FeatureEngine::words() const {
    Words out;
    out.values.resize(values_.size());
    return out;
}

std::int32_t FeatureEngine::describe(std::int32_t source, std::string_view text, std::string_view lower,
                                     bool growing, Words &words) {
    const std::int32_t known = words.texts.size();
    const std::int32_t id = words.texts.intern(text);
    if (id < known) return id;
    if (of_source_[source].size() == 1 &&
        design_.words[of_source_[source][0]].function == text::WordFunction::identity &&
        !(source == 0 && reads_traits_)) { // nothing to take apart
        const std::size_t c = of_source_[source][0];
        words.values[c].push_back(growing ? values_[c].intern(text) : values_[c].find(text));
        return id;
    }
    word_.read(text, lower, points_);
    if (source == 0 && reads_traits_) {
        std::uint32_t traits = word_.traits();
        if (prepositions_.find(word_.lower()) >= 0) traits |= text::is_preposition;
        const std::int32_t which = triggers_.find(word_.lower());
        if (which >= 0) traits |= static_cast<std::uint32_t>(text::trigger) << which;
        words.traits.push_back(traits);
        if (reads_phrases_)
            words.phrase.push_back(design_.phrases.word(design_.phrases.fold() ? word_.lower() : text));
        if (reads_elsewhere_) words.lower.push_back(words.lowers.intern(word_.lower()));
    }
    // All values are computed and their slots prefetched before the first lookup, so that the tables load in parallel.
    asked_.clear();
    asked_text_.clear();
    for (const std::size_t c : of_source_[source]) {
        if (!value(design_.words[c], text, text_)) {
            words.values[c].push_back(-1);
        } else if (growing) {
            words.values[c].push_back(values_[c].intern(text_));
        } else {
            asked_.push_back({c, asked_text_.size(), text_.size(), text::hash_bytes(text_)});
            asked_text_ += text_;
            values_[c].prefetch(asked_.back().hash);
        }
    }
    for (const Asked &a : asked_) {
        const auto s = std::string_view(asked_text_).substr(a.start, a.size);
        words.values[a.column].push_back(values_[a.column].find_hashed(s, a.hash));
    }
    return id;
}

// The value of a native column for the word that was read last; false if it has none.
bool FeatureEngine::value(const WordColumn &column, std::string_view text, std::string &out) const {
    switch (column.function) {
    case text::WordFunction::preposition:
        out = word_.lower();
        return prepositions_.find(word_.lower()) >= 0;
    case text::WordFunction::cluster: {
        std::int32_t at = design_.clusters.words.find(text);
        if (at < 0) at = design_.clusters.words.find(word_.lower());
        if (at < 0) return false;
        const std::string_view path = design_.clusters.paths[design_.clusters.path[at]];
        out = column.parameter > 0 ? path.substr(0, static_cast<std::size_t>(column.parameter)) : path;
        return true;
    }
    default:
        return word_.value(column.function, column.parameter, out);
    }
}

void FeatureEngine::set_external(std::size_t column, std::int32_t word, const std::string_view *value,
                                 bool growing, Words &words) {
    words.values[column][word] = value == nullptr ? -1
                                 : growing        ? values_[column].intern(*value)
                                                  : values_[column].find(*value);
}

// Features ----------------------------------------------------------------------------------------------

void FeatureEngine::fill(const Tokens &tokens, std::size_t first, std::size_t last, Frame &frame) const {
    const auto ptr = tokens.ptr.subspan(first, last - first + 1);
    const std::size_t W = values_.size();
    lay_out(ptr, W + design_.sentences.size(), margins_, frame);
    const std::size_t T = frame.size();
    const auto from = static_cast<std::size_t>(ptr[0]);
    for (std::size_t c = 0; c < W; ++c) {
        const std::int32_t source = design_.words[c].source;
        const std::int32_t *ids = tokens.ids[source].data() + from;
        const std::int32_t *values = tokens.words[source]->values[c].data();
        std::int32_t *out = frame.column(c).data();
        for (std::size_t t = 0; t < T; ++t) out[frame.cell[t]] = ids[t] < 0 ? -1 : values[ids[t]];
        fill_margins(c, n_values(c), margins_, frame);
    }
    if (design_.sentences.empty()) return;

    const Words &words = *tokens.words[0];
    const auto ids = tokens.ids[0].subspan(from, T);
    std::vector<std::uint32_t> traits(T);
    for (std::size_t t = 0; t < T; ++t) traits[t] = ids[t] < 0 ? 0 : words.traits[ids[t]];
    std::vector<std::int32_t> phrase_ids(reads_phrases_ ? T : 0);
    for (std::size_t t = 0; t < phrase_ids.size(); ++t)
        phrase_ids[t] = ids[t] < 0 ? -1 : words.phrase[ids[t]];
    Elsewhere elsewhere;
    if (reads_elsewhere_) {
        std::vector<std::int32_t> lower(T);
        for (std::size_t t = 0; t < T; ++t) lower[t] = ids[t] < 0 ? -1 : words.lower[ids[t]];
        const auto groups =
            tokens.groups.empty() ? tokens.groups : tokens.groups.subspan(first, last - first);
        elsewhere = find_elsewhere(frame.bounds, lower, traits, groups);
    }
    Sentences input{.traits = traits,
                    .elsewhere = &elsewhere,
                    .phrase_ids = phrase_ids,
                    .phrases = &design_.phrases,
                    .combinations = combinations_,
                    .words = ids,
                    .strings = &words.texts,
                    .runs = &runs_};
    for (std::size_t s = 0; s < design_.sentences.size(); ++s) {
        const SentenceColumn &column = design_.sentences[s];
        fill_sentence_column(W + s, column, reads_column(column.function) ? n_values(column.argument) : -1, input,
                             frame);
        fill_margins(W + s, n_values(W + s), margins_, frame);
    }
}

std::size_t FeatureEngine::find(const Frame &frame, std::int64_t *lengths, std::int32_t *ids,
                                std::int32_t *observations) const {
    const std::size_t n = frame.size(), L = labelled_.size();
    std::vector<std::int32_t> scratch((slots_ + L) * n); // [slot][T]
    std::size_t slot = 0;
    for (const std::size_t i : plain_) {
        const std::size_t wide = tables_[i].slots();
        tables_[i].find(frame, std::span(scratch).subspan(slot * n, wide * n));
        slot += wide;
    }
    for (const std::size_t i : labelled_) tables_[i].find(frame, std::span(scratch).subspan(slot++ * n, n));

    std::size_t written = 0;
    for (std::size_t t = 0; t < n; ++t) {
        const std::size_t before = written;
        for (std::size_t s = 0; s < slots_; ++s)
            if (const std::int32_t id = scratch[s * n + t]; id >= 0) ids[written++] = id;
        lengths[t] = static_cast<std::int64_t>(written - before);
        for (std::size_t l = 0; l < L; ++l) observations[t * L + l] = scratch[(slots_ + l) * n + t];
    }
    return written;
}

TokenRows FeatureEngine::find(const Tokens &tokens, std::size_t threads,
                         std::vector<std::int32_t> &observations) const {
    const std::size_t T = tokens.size(), L = labelled_.size(), N = tokens.sentences();
    std::vector<std::size_t> blocks{0};
    while (blocks.back() < N) blocks.push_back(tokens.stretch(blocks.back(), 1 << 12));
    TokenRows rows;
    rows.reserve(T * slots_);
    rows.ptr.assign(T + 1, 0);
    observations.resize(T * L);
    std::vector<std::size_t> written(blocks.size() - 1);
    machine::parallel_blocks(written.size(), threads, [&](std::size_t b) {
        Frame frame;
        fill(tokens, blocks[b], blocks[b + 1], frame);
        const auto from = static_cast<std::size_t>(tokens.ptr[blocks[b]]);
        written[b] = find(frame, rows.ptr.data() + from + 1, rows.ids.get() + from * slots_,
                          observations.data() + from * L);
    });
    std::size_t end = 0;
    for (std::size_t b = 0; b < written.size(); ++b) { // blocks move down and never overwrite a block still to be moved
        const std::int32_t *from = rows.ids.get() + static_cast<std::size_t>(tokens.ptr[blocks[b]]) * slots_;
        std::copy(from, from + written[b], rows.ids.get() + end);
        end += written[b];
    }
    for (std::size_t t = 0; t < T; ++t) rows.ptr[t + 1] += rows.ptr[t];
    rows.shrink(end);
    return rows;
}

} // namespace chaffinch::features
