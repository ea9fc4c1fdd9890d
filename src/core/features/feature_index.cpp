// The feature engine's index: its tables built from saved keys, and names read back from keys.
#include "feature_engine.hpp"

#include <algorithm>
#include <stdexcept>

namespace chaffinch::features {

void FeatureEngine::open_tables() {
    sizes_.resize(values_.size() + design_.sentences.size());
    for (std::size_t c = 0; c < sizes_.size(); ++c) sizes_[c] = n_values(c);
    lay_out_tables();
}

void FeatureEngine::lay_out_tables() {
    std::vector<std::uint64_t> radix(sizes_.size());
    for (std::size_t c = 0; c < radix.size(); ++c) radix[c] = margins_.radix(sizes_[c]);
    tables_.clear();
    for (const Template &t : design_.templates)
        tables_.emplace_back(t, radix, t.atoms.empty() ? 0 : sizes_[t.atoms[0].column]);
}

// Builds the tables from the state; a key that does not fit its template is an error.
void FeatureEngine::rebuild_tables() {
    const auto refuse = [] {
        throw std::invalid_argument("the feature index has a key that no template makes");
    };
    std::vector<std::size_t> sizes(tables_.size(), 0);
    for (const std::uint16_t i : state_.feature_template) {
        if (i >= tables_.size() || !design_.templates[i].label_offsets.empty()) refuse();
        ++sizes[i];
    }
    for (const std::size_t i : plain_) tables_[i].features().clear(sizes[i]);
    for (std::size_t id = 0; id < state_.feature_key.size(); ++id)
        if (!tables_[state_.feature_template[id]].features().set(state_.feature_key[id],
                                                                 static_cast<std::int32_t>(id)))
            refuse();

    const auto set_all = [&](KeyTable &table, std::span<const std::int64_t> ptr, std::size_t k,
                             const std::vector<std::uint64_t> &keys) {
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
    for (TemplateTables &t : tables_)
        for (std::size_t s = 0; s + 1 < t.tables.size(); ++s)
            set_all(t.tables[s], state_.join_ptr, join++, state_.join_key);

    // The carried digit of a key must be an id of the join before.
    const auto check_carry = [&](const TemplateTables &t, std::size_t s, std::uint64_t key) {
        if (s > 0 && key / t.stages[s].carry_stride >= static_cast<std::uint64_t>(t.tables[s - 1].size()))
            refuse();
    };
    for (std::size_t id = 0; id < state_.feature_key.size(); ++id) {
        const TemplateTables &t = tables_[state_.feature_template[id]];
        check_carry(t, t.stages.size() - 1, state_.feature_key[id]);
    }
    for (std::size_t l = 0; l < labelled_.size(); ++l)
        for (std::int64_t j = state_.observation_ptr[l]; j < state_.observation_ptr[l + 1]; ++j)
            check_carry(tables_[labelled_[l]], tables_[labelled_[l]].stages.size() - 1,
                        state_.observation_key[j]);
    join = 0;
    for (const TemplateTables &t : tables_)
        for (std::size_t s = 0; s + 1 < t.tables.size(); ++s, ++join)
            for (std::int64_t j = state_.join_ptr[join]; j < state_.join_ptr[join + 1]; ++j)
                check_carry(t, s, state_.join_key[j]);
}

FeatureEngine FeatureEngine::without_features() const {
    FeatureEngine out(design_);
    out.points_ = text::CodePoints(points_);
    out.values_ = values_;
    out.runs_ = runs_;
    out.sizes_ = sizes_;
    return out;
}

void FeatureEngine::take(const FeatureEngine &whole, std::span<const std::uint8_t> keep) {
    lay_out_tables();
    const IndexState &from = whole.state_;
    const auto kept = static_cast<std::size_t>(std::ranges::count_if(keep, [](std::uint8_t k) { return k != 0; }));
    state_ = {{}, {}, from.observation_ptr, from.observation_key, from.join_ptr, from.join_key};
    state_.feature_template.reserve(kept);
    state_.feature_key.reserve(kept);
    for (std::size_t f = 0; f < keep.size(); ++f)
        if (keep[f]) {
            state_.feature_template.push_back(from.feature_template[f]);
            state_.feature_key.push_back(from.feature_key[f]);
        }
    counts_.clear();
    rebuild_tables();
}

void FeatureEngine::restore(std::vector<std::vector<std::string>> values,
                            const std::vector<std::string> &runs, IndexState state) {
    if (values.size() != values_.size()) throw std::invalid_argument("the feature index has other columns");
    const auto intern_all = [](const std::vector<std::string> &strings, text::Interner &into) {
        into = {};
        for (const std::string &s : strings) into.intern(s);
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

std::string FeatureEngine::feature_name(std::int32_t feature) const {
    return name(tables_[state_.feature_template[feature]], state_.feature_key[feature]);
}

std::string FeatureEngine::observation_name(std::size_t l, std::int32_t observation) const {
    return name(tables_[labelled_[l]], state_.observation_key[state_.observation_ptr[l] + observation]);
}

std::string FeatureEngine::name(const TemplateTables &t, std::uint64_t key) const {
    if (t.window) {
        std::string out = "any(" + design_.names[t.atoms[0].column] + "," +
                          std::to_string(t.atoms.front().offset) + ".." +
                          std::to_string(t.atoms.back().offset) + ")=";
        out += values_.size() > static_cast<std::size_t>(t.atoms[0].column)
                   ? values_[t.atoms[0].column][static_cast<std::int32_t>(key)]
                   : std::string_view(fixed_[t.atoms[0].column - values_.size()][key]);
        return out;
    }
    std::size_t join = 0; // the number of this template's first join
    for (const TemplateTables &other : tables_) {
        if (&other == &t) break;
        join += other.tables.size() - 1;
    }
    std::string out;
    for (std::size_t s = t.stages.size(); s-- > 0;) {
        const Stage &stage = t.stages[s];
        std::uint64_t rest = key;
        if (stage.carry_stride > 0) rest %= stage.carry_stride;
        std::string here;
        for (const Stage::Digit &digit : stage.digits) {
            if (!here.empty()) here += '|';
            append_value(digit.column, digit.offset, static_cast<std::int32_t>(rest / digit.stride), here);
            rest %= digit.stride;
        }
        out = out.empty() ? here : here + "|" + out;
        if (stage.carry_stride > 0)
            key = state_.join_key[state_.join_ptr[join + s - 1] +
                                  static_cast<std::int64_t>(key / stage.carry_stride)];
    }
    return out.empty() ? "bias" : out;
}

void FeatureEngine::append_value(std::size_t column, std::int32_t offset, std::int32_t value,
                                 std::string &out) const {
    const std::int32_t n = n_values(column);
    out += design_.names[column] + "[" + std::to_string(offset) + "]=";
    if (value >= n + margins_.left)
        out += "__EOS+" + std::to_string(value - n - margins_.left + 1);
    else if (value >= n)
        out += "__BOS-" + std::to_string(value - n + 1);
    else if (column < values_.size())
        out += values_[column][value];
    else {
        const SentenceColumn &sentence = design_.sentences[column - values_.size()];
        if (sentence.function == SentenceFunction::run)
            out += runs_[value];
        else if (!fixed_[column - values_.size()].empty())
            out += fixed_[column - values_.size()][value];
        else if (value >= values_[sentence.argument].size())
            out += "__none";
        else
            out += values_[sentence.argument][value];
    }
}

} // namespace chaffinch::features
