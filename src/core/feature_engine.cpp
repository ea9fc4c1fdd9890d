#include "feature_engine.hpp"

#include "parallel.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace chaffinch {

namespace {

// The first sentence after `from` such that the sentences between hold about `most` tokens, at least one.
std::size_t stretch(std::span<const std::int64_t> ptr, std::size_t from, std::int64_t most) {
    std::size_t to = from + 1;
    while (to + 1 < ptr.size() && ptr[to + 1] - ptr[from] <= most) ++to;
    return to;
}

} // namespace

FeatureEngine::FeatureEngine(Design design) : design_(std::move(design)), values_(design_.words.size()) {
    of_source_.resize(static_cast<std::size_t>(design_.sources));
    for (std::size_t c = 0; c < design_.words.size(); ++c) of_source_[design_.words[c].source].push_back(c);
    for (const std::string& w : design_.prepositions) prepositions_.intern(w);
    for (const std::string& w : design_.triggers) triggers_.intern(w);
    combinations_ = design_.phrases.combinations();
    for (const SentenceColumn& column : design_.sentences) {
        fixed_.push_back(fixed_values(column.function, design_.triggers, design_.lists, combinations_));
        reads_traits_ = true;
        reads_runs_ |= column.function == SentenceFunction::run;
        reads_elsewhere_ |= column.function == SentenceFunction::elsewhere;
        reads_phrases_ |= column.function == SentenceFunction::phrases ||
                          column.function == SentenceFunction::phrases_list;
    }
    margins_.marked = design_.marked;
    for (std::size_t i = 0; i < design_.templates.size(); ++i) {
        const Template& t = design_.templates[i];
        for (const Atom& atom : t.atoms) {
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
    for (const TemplateTables& t : tables_)
        for (const KeyTable& table : t.tables) bytes += table.bytes();
    return bytes + state_.feature_key.size() * (sizeof(std::uint64_t) + sizeof(std::uint16_t));
}

std::int32_t FeatureEngine::n_values(std::size_t column) const {
    const std::size_t W = values_.size();
    if (column < W) return values_[column].size();
    const SentenceColumn& sentence = design_.sentences[column - W];
    switch (sentence.function) {
    case SentenceFunction::first_word:
    case SentenceFunction::last_word: return values_[sentence.argument].size();
    case SentenceFunction::last_punctuation:
    case SentenceFunction::last_preposition: return values_[sentence.argument].size() + 1;
    case SentenceFunction::run: return runs_.size();
    default: return static_cast<std::int32_t>(fixed_[column - W].size());
    }
}

// Words -------------------------------------------------------------------------------------------------

Words FeatureEngine::words() const {
    Words out;
    out.values.resize(values_.size());
    return out;
}

std::int32_t FeatureEngine::describe(std::int32_t source, std::string_view text, std::string_view lower,
                                     bool growing, Words& words) {
    const std::int32_t known = words.texts.size();
    const std::int32_t id = words.texts.intern(text);
    if (id < known) return id;
    if (of_source_[source].size() == 1 && design_.words[of_source_[source][0]].function == WordFunction::identity &&
        !(source == 0 && reads_traits_)) { // nothing to take apart
        const std::size_t c = of_source_[source][0];
        words.values[c].push_back(growing ? values_[c].intern(text) : values_[c].find(text));
        return id;
    }
    word_.read(text, lower, points_);
    if (source == 0 && reads_traits_) {
        std::uint32_t traits = word_.traits();
        if (prepositions_.find(word_.lower()) >= 0) traits |= is_preposition;
        const std::int32_t which = triggers_.find(word_.lower());
        if (which >= 0) traits |= static_cast<std::uint32_t>(trigger) << which;
        words.traits.push_back(traits);
        if (reads_phrases_)
            words.phrase.push_back(design_.phrases.word(design_.phrases.fold() ? word_.lower() : text));
        if (reads_elsewhere_) words.lower.push_back(words.lowers.intern(word_.lower()));
    }
    // Every value is made and its place in its table asked for before the first is looked up, so that the
    // tables are loaded at the same time.
    asked_.clear();
    asked_text_.clear();
    for (const std::size_t c : of_source_[source]) {
        if (!value(design_.words[c], text, text_)) {
            words.values[c].push_back(-1);
        } else if (growing) {
            words.values[c].push_back(values_[c].intern(text_));
        } else {
            asked_.push_back({c, asked_text_.size(), text_.size(), hash_bytes(text_)});
            asked_text_ += text_;
            values_[c].prefetch(asked_.back().hash);
        }
    }
    for (const Asked& a : asked_) {
        const auto s = std::string_view(asked_text_).substr(a.start, a.size);
        words.values[a.column].push_back(values_[a.column].find_hashed(s, a.hash));
    }
    return id;
}

// The value of a native column for the word that was read last; false if it has none.
bool FeatureEngine::value(const WordColumn& column, std::string_view text, std::string& out) const {
    switch (column.function) {
    case WordFunction::preposition: out = word_.lower(); return prepositions_.find(word_.lower()) >= 0;
    case WordFunction::cluster: {
        std::int32_t at = design_.clusters.words.find(text);
        if (at < 0) at = design_.clusters.words.find(word_.lower());
        if (at < 0) return false;
        const std::string_view path = design_.clusters.paths[design_.clusters.path[at]];
        out = column.parameter > 0 ? path.substr(0, static_cast<std::size_t>(column.parameter)) : path;
        return true;
    }
    default: return word_.value(column.function, column.parameter, out);
    }
}

void FeatureEngine::set_external(std::size_t column, std::int32_t word, const std::string_view* value,
                                 bool growing, Words& words) {
    words.values[column][word] =
        value == nullptr ? -1 : growing ? values_[column].intern(*value) : values_[column].find(*value);
}

// Features ----------------------------------------------------------------------------------------------

void FeatureEngine::fill(const Tokens& tokens, std::size_t first, std::size_t last, Frame& frame) const {
    const auto ptr = tokens.ptr.subspan(first, last - first + 1);
    const std::size_t W = values_.size();
    lay_out(ptr, W + design_.sentences.size(), margins_, frame);
    const std::size_t T = frame.size();
    const auto from = static_cast<std::size_t>(ptr[0]);
    for (std::size_t c = 0; c < W; ++c) {
        const std::int32_t source = design_.words[c].source;
        const std::int32_t* ids = tokens.ids[source].data() + from;
        const std::int32_t* values = tokens.words[source]->values[c].data();
        std::int32_t* out = frame.column(c).data();
        for (std::size_t t = 0; t < T; ++t) out[frame.cell[t]] = ids[t] < 0 ? -1 : values[ids[t]];
        fill_margins(c, n_values(c), margins_, frame);
    }
    if (design_.sentences.empty()) return;

    const Words& words = *tokens.words[0];
    const auto ids = tokens.ids[0].subspan(from, T);
    std::vector<std::uint32_t> traits(T);
    for (std::size_t t = 0; t < T; ++t) traits[t] = ids[t] < 0 ? 0 : words.traits[ids[t]];
    std::vector<std::int32_t> phrase_ids(reads_phrases_ ? T : 0);
    for (std::size_t t = 0; t < phrase_ids.size(); ++t) phrase_ids[t] = ids[t] < 0 ? -1 : words.phrase[ids[t]];
    std::vector<std::int8_t> elsewhere(reads_elsewhere_ ? T : 0, std::int8_t{-1});
    if (reads_elsewhere_) {
        std::vector<std::int32_t> lower(T);
        for (std::size_t t = 0; t < T; ++t) lower[t] = ids[t] < 0 ? -1 : words.lower[ids[t]];
        const auto groups =
            tokens.groups.empty() ? tokens.groups : tokens.groups.subspan(first, last - first);
        find_elsewhere(frame.bounds, lower, traits, groups, elsewhere);
    }
    Sentences input{.traits = traits,
                    .elsewhere = elsewhere,
                    .phrase_ids = phrase_ids,
                    .phrases = &design_.phrases,
                    .combinations = combinations_,
                    .words = ids,
                    .strings = &words.texts,
                    .runs = &runs_};
    for (std::size_t s = 0; s < design_.sentences.size(); ++s) {
        const SentenceColumn& column = design_.sentences[s];
        const bool from_column = column.function == SentenceFunction::first_word ||
                                 column.function == SentenceFunction::last_word ||
                                 column.function == SentenceFunction::last_punctuation ||
                                 column.function == SentenceFunction::last_preposition;
        fill_sentence_column(W + s, column, from_column ? n_values(column.argument) : -1, input, frame);
        fill_margins(W + s, n_values(W + s), margins_, frame);
    }
}

void FeatureEngine::open_tables() {
    std::vector<std::uint64_t> radix(values_.size() + design_.sentences.size());
    for (std::size_t c = 0; c < radix.size(); ++c) radix[c] = margins_.radix(n_values(c));
    tables_.clear();
    for (const Template& t : design_.templates)
        tables_.emplace_back(t, radix, t.atoms.empty() ? 0 : n_values(t.atoms[0].column));
}

Rows FeatureEngine::fit(const Tokens& tokens, std::int32_t min_count, std::size_t threads,
                        std::vector<std::int32_t>& observations) {
    if (reads_runs_) {
        const Words& words = *tokens.words[0];
        std::vector<std::uint32_t> traits(tokens.size());
        for (std::size_t t = 0; t < traits.size(); ++t) {
            const std::int32_t id = tokens.ids[0][t];
            traits[t] = id < 0 ? 0 : words.traits[id];
        }
        intern_runs(tokens.ptr, tokens.ids[0], traits, words.texts, runs_);
    }
    open_tables();

    // Ids in order of first sight, template by template: threads share templates, not tables, so the ids do
    // not depend on their number. rows.ids[t][slot] holds them until all counts are known.
    const std::size_t T = tokens.size(), L = labelled_.size(), N = tokens.sentences();
    Rows rows;
    rows.reserve(T * slots_);
    observations.resize(T * L);
    std::vector<std::size_t> start(tables_.size()); // of each template in the scratch, in slots
    std::size_t total = 0;
    for (const std::size_t i : plain_) {
        start[i] = total;
        total += tables_[i].slots();
    }
    for (const std::size_t i : labelled_) start[i] = total++;
    Frame frame;
    std::vector<std::int32_t> scratch; // [slot][tokens of the frame]
    const std::int64_t most = threads == 1 ? 1 << 12 : 1 << 15;
    for (std::size_t first = 0; first < N;) {
        std::size_t last = stretch(tokens.ptr, first, most);
        // A document is not cut in two.
        while (last < N && !tokens.groups.empty() && tokens.groups[last] == tokens.groups[last - 1]) ++last;
        fill(tokens, first, last, frame);
        const std::size_t n = frame.size();
        scratch.resize(total * n);
        parallel_blocks(tables_.size(), threads, [&](std::size_t i) {
            const auto out = std::span(scratch).subspan(start[i] * n, tables_[i].slots() * n);
            tables_[i].count(frame, out);
        });
        const auto from = static_cast<std::size_t>(tokens.ptr[first]);
        for (std::size_t t = 0; t < n; ++t)
            for (std::size_t s = 0; s < slots_; ++s) rows.ids[(from + t) * slots_ + s] = scratch[s * n + t];
        for (std::size_t t = 0; t < n; ++t)
            for (std::size_t l = 0; l < L; ++l) observations[(from + t) * L + l] = scratch[(slots_ + l) * n + t];
        first = last;
    }

    std::vector<std::vector<std::int32_t>> renumbered;
    freeze(min_count, renumbered);

    std::vector<const std::int32_t*> of_slot;
    for (const std::size_t i : plain_) of_slot.insert(of_slot.end(), tables_[i].slots(), renumbered[i].data());
    rows.ptr.assign(T + 1, 0);
    std::int64_t written = 0;
    for (std::size_t t = 0; t < T; ++t) {
        for (std::size_t s = 0; s < slots_; ++s) {
            const std::int32_t seen = rows.ids[t * slots_ + s];
            const std::int32_t id = seen < 0 ? -1 : of_slot[s][seen];
            if (id >= 0) rows.ids[written++] = id; // never ahead of what is read
        }
        rows.ptr[t + 1] = written;
    }
    rows.shrink(static_cast<std::size_t>(written));
    for (std::size_t t = 0; t < T; ++t)
        for (std::size_t l = 0; l < L; ++l) {
            std::int32_t& seen = observations[t * L + l];
            if (seen >= 0) seen = renumbered[labelled_[l]][seen];
        }
    return rows;
}

// Final ids: features in order of falling count (of equal count: by template, then by first sight), so that
// those met most lie together; observations likewise, each label template for itself. What was seen fewer than
// min_count times has none.
void FeatureEngine::freeze(std::int32_t min_count, std::vector<std::vector<std::int32_t>>& renumbered) {
    renumbered.assign(tables_.size(), {});
    std::vector<std::vector<std::uint64_t>> keys(tables_.size());
    std::vector<std::vector<std::int32_t>> counts(tables_.size());
    for (std::size_t i = 0; i < tables_.size(); ++i)
        std::tie(keys[i], counts[i]) = tables_[i].features().drained();

    state_ = {};
    const auto in_order = [&](std::span<const std::size_t> group, auto take) {
        std::int32_t most = 0;
        for (const std::size_t i : group)
            for (const std::int32_t n : counts[i]) most = std::max(most, n);
        std::vector<std::int64_t> place(static_cast<std::size_t>(most) + 2, 0); // counting sort
        for (const std::size_t i : group)
            for (const std::int32_t n : counts[i])
                if (n >= min_count) ++place[n];
        std::int64_t before = 0;
        for (std::size_t n = place.size(); n-- > 0;) before += std::exchange(place[n], before);
        if (before > std::numeric_limits<std::int32_t>::max())
            throw std::length_error("more than 2^31 features: raise min_count or use fewer templates");
        take(static_cast<std::size_t>(before));
        for (const std::size_t i : group) {
            renumbered[i].resize(counts[i].size());
            for (std::size_t k = 0; k < counts[i].size(); ++k)
                renumbered[i][k] =
                    counts[i][k] < min_count ? -1 : static_cast<std::int32_t>(place[counts[i][k]]++);
        }
    };

    in_order(plain_, [&](std::size_t F) {
        state_.feature_template.resize(F);
        state_.feature_key.resize(F);
        counts_.resize(F);
    });
    for (const std::size_t i : plain_)
        for (std::size_t k = 0; k < keys[i].size(); ++k)
            if (const std::int32_t id = renumbered[i][k]; id >= 0) {
                state_.feature_template[id] = static_cast<std::uint16_t>(i);
                state_.feature_key[id] = keys[i][k];
                counts_[id] = counts[i][k];
            }

    state_.observation_ptr.assign(1, 0);
    for (const std::size_t i : labelled_) {
        const std::int64_t from = state_.observation_ptr.back();
        in_order(std::span(&i, 1), [&](std::size_t n) {
            state_.observation_ptr.push_back(from + static_cast<std::int64_t>(n));
            state_.observation_key.resize(static_cast<std::size_t>(from) + n);
        });
        for (std::size_t k = 0; k < keys[i].size(); ++k)
            if (const std::int32_t id = renumbered[i][k]; id >= 0) state_.observation_key[from + id] = keys[i][k];
    }

    state_.join_ptr.assign(1, 0);
    for (TemplateTables& t : tables_)
        for (std::size_t s = 0; s + 1 < t.tables.size(); ++s) {
            const auto joined = t.tables[s].drained().first;
            state_.join_key.insert(state_.join_key.end(), joined.begin(), joined.end());
            state_.join_ptr.push_back(static_cast<std::int64_t>(state_.join_key.size()));
        }
    keys = {};
    counts = {};
    rebuild_tables();
}

// The tables from the state; any key that does not fit its template is refused.
void FeatureEngine::rebuild_tables() {
    const auto refuse = [] { throw std::invalid_argument("the feature index has a key that no template makes"); };
    std::vector<std::size_t> sizes(tables_.size(), 0);
    for (const std::uint16_t i : state_.feature_template) {
        if (i >= tables_.size() || !design_.templates[i].label_offsets.empty()) refuse();
        ++sizes[i];
    }
    for (const std::size_t i : plain_) tables_[i].features().clear(sizes[i]);
    for (std::size_t id = 0; id < state_.feature_key.size(); ++id)
        if (!tables_[state_.feature_template[id]].features().set(state_.feature_key[id], static_cast<std::int32_t>(id)))
            refuse();

    const auto set_all = [&](KeyTable& table, std::span<const std::int64_t> ptr, std::size_t k,
                             const std::vector<std::uint64_t>& keys) {
        if (k + 1 >= ptr.size() || ptr[k] < 0 || ptr[k] > ptr[k + 1] ||
            ptr[k + 1] > static_cast<std::int64_t>(keys.size()))
            refuse();
        table.clear(static_cast<std::size_t>(ptr[k + 1] - ptr[k]));
        for (std::int64_t j = ptr[k]; j < ptr[k + 1]; ++j)
            if (!table.set(keys[j], static_cast<std::int32_t>(j - ptr[k]))) refuse();
    };
    for (std::size_t l = 0; l < labelled_.size(); ++l)
        set_all(tables_[labelled_[l]].features(), state_.observation_ptr, l, state_.observation_key);
    std::size_t join = 0;
    for (TemplateTables& t : tables_)
        for (std::size_t s = 0; s + 1 < t.tables.size(); ++s)
            set_all(t.tables[s], state_.join_ptr, join++, state_.join_key);

    // The carried digit of a key must be an id of the join before.
    const auto check_carry = [&](const TemplateTables& t, std::size_t s, std::uint64_t key) {
        if (s > 0 && key / t.stages[s].carry_stride >= static_cast<std::uint64_t>(t.tables[s - 1].size())) refuse();
    };
    for (std::size_t id = 0; id < state_.feature_key.size(); ++id) {
        const TemplateTables& t = tables_[state_.feature_template[id]];
        check_carry(t, t.stages.size() - 1, state_.feature_key[id]);
    }
    for (std::size_t l = 0; l < labelled_.size(); ++l)
        for (std::int64_t j = state_.observation_ptr[l]; j < state_.observation_ptr[l + 1]; ++j)
            check_carry(tables_[labelled_[l]], tables_[labelled_[l]].stages.size() - 1, state_.observation_key[j]);
    join = 0;
    for (const TemplateTables& t : tables_)
        for (std::size_t s = 0; s + 1 < t.tables.size(); ++s, ++join)
            for (std::int64_t j = state_.join_ptr[join]; j < state_.join_ptr[join + 1]; ++j)
                check_carry(t, s, state_.join_key[j]);
}

std::size_t FeatureEngine::find(const Frame& frame, std::int64_t* lengths, std::int32_t* ids,
                                std::int32_t* observations) const {
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

Rows FeatureEngine::find(const Tokens& tokens, std::size_t threads, std::vector<std::int32_t>& observations) const {
    const std::size_t T = tokens.size(), L = labelled_.size(), N = tokens.sentences();
    std::vector<std::size_t> blocks{0};
    while (blocks.back() < N) {
        std::size_t last = stretch(tokens.ptr, blocks.back(), 1 << 12);
        while (last < N && !tokens.groups.empty() && tokens.groups[last] == tokens.groups[last - 1]) ++last;
        blocks.push_back(last);
    }
    Rows rows;
    rows.reserve(T * slots_);
    rows.ptr.assign(T + 1, 0);
    observations.resize(T * L);
    std::vector<std::size_t> written(blocks.size() - 1);
    parallel_blocks(written.size(), threads, [&](std::size_t b) {
        Frame frame;
        fill(tokens, blocks[b], blocks[b + 1], frame);
        const auto from = static_cast<std::size_t>(tokens.ptr[blocks[b]]);
        written[b] = find(frame, rows.ptr.data() + from + 1, rows.ids.get() + from * slots_,
                          observations.data() + from * L);
    });
    std::size_t end = 0;
    for (std::size_t b = 0; b < written.size(); ++b) { // blocks move down, never past what is still to move
        const std::int32_t* from = rows.ids.get() + static_cast<std::size_t>(tokens.ptr[blocks[b]]) * slots_;
        std::copy(from, from + written[b], rows.ids.get() + end);
        end += written[b];
    }
    for (std::size_t t = 0; t < T; ++t) rows.ptr[t + 1] += rows.ptr[t];
    rows.shrink(end);
    return rows;
}

// Names and saved state ---------------------------------------------------------------------------------

std::string FeatureEngine::feature_name(std::int32_t feature) const {
    return name(tables_[state_.feature_template[feature]], state_.feature_key[feature]);
}

std::string FeatureEngine::observation_name(std::size_t l, std::int32_t observation) const {
    return name(tables_[labelled_[l]], state_.observation_key[state_.observation_ptr[l] + observation]);
}

std::string FeatureEngine::name(const TemplateTables& t, std::uint64_t key) const {
    if (t.window) {
        std::string out = "any(" + design_.names[t.atoms[0].column] + "," + std::to_string(t.atoms.front().offset) +
                          ".." + std::to_string(t.atoms.back().offset) + ")=";
        out += values_.size() > static_cast<std::size_t>(t.atoms[0].column)
                   ? values_[t.atoms[0].column][static_cast<std::int32_t>(key)]
                   : std::string_view(fixed_[t.atoms[0].column - values_.size()][key]);
        return out;
    }
    std::size_t join = 0; // the number of this template's first join
    for (const TemplateTables& other : tables_) {
        if (&other == &t) break;
        join += other.tables.size() - 1;
    }
    std::string out;
    for (std::size_t s = t.stages.size(); s-- > 0;) {
        const Stage& stage = t.stages[s];
        std::uint64_t rest = key;
        if (stage.carry_stride > 0) rest %= stage.carry_stride;
        std::string here;
        for (const Stage::Digit& digit : stage.digits) {
            if (!here.empty()) here += '|';
            append_value(digit.column, digit.offset, static_cast<std::int32_t>(rest / digit.stride), here);
            rest %= digit.stride;
        }
        out = out.empty() ? here : here + "|" + out;
        if (stage.carry_stride > 0)
            key = state_.join_key[state_.join_ptr[join + s - 1] + static_cast<std::int64_t>(key / stage.carry_stride)];
    }
    return out.empty() ? "bias" : out;
}

void FeatureEngine::append_value(std::size_t column, std::int32_t offset, std::int32_t value, std::string& out) const {
    const std::int32_t n = n_values(column);
    out += design_.names[column] + "[" + std::to_string(offset) + "]=";
    if (value >= n + margins_.left) out += "__EOS+" + std::to_string(value - n - margins_.left + 1);
    else if (value >= n) out += "__BOS-" + std::to_string(value - n + 1);
    else if (column < values_.size()) out += values_[column][value];
    else {
        const SentenceColumn& sentence = design_.sentences[column - values_.size()];
        if (sentence.function == SentenceFunction::run) out += runs_[value];
        else if (!fixed_[column - values_.size()].empty()) out += fixed_[column - values_.size()][value];
        else if (value >= values_[sentence.argument].size()) out += "__none";
        else out += values_[sentence.argument][value];
    }
}

void FeatureEngine::restore(std::vector<std::vector<std::string>> values, const std::vector<std::string>& runs,
                            IndexState state) {
    if (values.size() != values_.size()) throw std::invalid_argument("the feature index has other columns");
    const auto intern_all = [](const std::vector<std::string>& strings, Interner& into) {
        into = {};
        for (const std::string& s : strings) into.intern(s);
        if (static_cast<std::size_t>(into.size()) != strings.size())
            throw std::invalid_argument("a column has a value twice");
    };
    for (std::size_t c = 0; c < values.size(); ++c) intern_all(values[c], values_[c]);
    intern_all(runs, runs_);
    if (state.feature_key.size() != state.feature_template.size())
        throw std::invalid_argument("the feature index has keys without templates");
    if (state.observation_ptr.size() != labelled_.size() + 1 || state.observation_ptr[0] != 0)
        throw std::invalid_argument("the feature index has other label templates");
    open_tables();
    state_ = std::move(state);
    counts_.clear();
    rebuild_tables();
}

} // namespace chaffinch
