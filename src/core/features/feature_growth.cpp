// Growth of the feature engine's frozen index by further text: known features keep their ids, new ones follow.
#include "feature_engine.hpp"

#include "parallel.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <stdexcept>
#include <utility>

namespace chaffinch::features {

namespace {

// The values of a template's atoms, read back from a key. joins: the keys of each stage but the last, by id.
void read_key(const TemplateTables &t, std::uint64_t key, std::span<const std::span<const std::uint64_t>> joins,
              std::vector<std::int32_t> &values) {
    values.assign(t.atoms.size(), 0);
    std::size_t at = values.size();
    for (std::size_t s = t.stages.size(); s-- > 0;) {
        const Stage &stage = t.stages[s];
        std::uint64_t rest = stage.carry_stride > 0 ? key % stage.carry_stride : key;
        at -= stage.digits.size();
        for (std::size_t d = 0; d < stage.digits.size(); ++d) {
            values[at + d] = static_cast<std::int32_t>(rest / stage.digits[d].stride);
            rest %= stage.digits[d].stride;
        }
        if (stage.carry_stride > 0) key = joins[s - 1][static_cast<std::size_t>(key / stage.carry_stride)];
    }
}

// The key of these values in the last stage; joins before it get an id if they have none.
std::uint64_t enter(TemplateTables &t, const std::vector<std::int32_t> &values) {
    std::int32_t id = 0;
    std::size_t at = 0;
    for (std::size_t s = 0;; ++s) {
        const Stage &stage = t.stages[s];
        std::uint64_t key = s > 0 ? static_cast<std::uint64_t>(id) * stage.carry_stride : 0;
        for (const Stage::Digit &digit : stage.digits)
            key += static_cast<std::uint64_t>(static_cast<std::uint32_t>(values[at++])) * digit.stride;
        if (s + 1 == t.stages.size()) return key;
        id = t.tables[s].count(key);
    }
}

} // namespace

TokenRows FeatureEngine::grow(const Tokens &tokens, std::size_t threads, std::vector<std::int32_t> &observations) {
    const IndexState old = std::exchange(state_, {});
    const std::vector<TemplateTables> old_tables = std::exchange(tables_, {});
    const std::vector<std::int32_t> old_sizes = sizes_;
    find_runs(tokens);
    open_tables();
    for (std::size_t i = 0; i < tables_.size(); ++i)
        for (std::size_t s = 0; s < tables_[i].tables.size(); ++s)
            tables_[i].tables[s].expect(static_cast<std::size_t>(old_tables[i].tables[s].size()));

    // A value beyond those of its column is a boundary mark or "none"; it shifts with the number of values.
    const auto moved = [&](const Atom &atom, std::int32_t value) {
        const auto c = static_cast<std::size_t>(atom.column);
        const bool last = has_none(c) && value == old_sizes[c] - 1;
        return value >= old_sizes[c] || last ? value - old_sizes[c] + sizes_[c] : value;
    };
    std::vector<std::vector<std::span<const std::uint64_t>>> joins(old_tables.size());
    for (std::size_t i = 0, join = 0; i < old_tables.size(); ++i)
        for (std::size_t s = 0; s + 1 < old_tables[i].tables.size(); ++s, ++join)
            joins[i].push_back(std::span(old.join_key)
                                   .subspan(static_cast<std::size_t>(old.join_ptr[join]),
                                            static_cast<std::size_t>(old.join_ptr[join + 1] - old.join_ptr[join])));
    std::vector<std::vector<std::int32_t>> final_ids(tables_.size()); // [templates][ids of its table]
    std::vector<std::int32_t> values;
    // The key of the last stage in the new tables; joins before it get ids.
    const auto moved_key = [&](std::size_t i, std::uint64_t key) {
        const TemplateTables &t = old_tables[i];
        if (t.window) return key;
        read_key(t, key, joins[i], values);
        for (std::size_t a = 0; a < values.size(); ++a) values[a] = moved(t.atoms[a], values[a]);
        return enter(tables_[i], values);
    };
    constexpr std::size_t together = 16; // keys whose places are loaded at the same time
    std::array<std::uint64_t, together> keys_ahead;
    for (std::size_t first = 0; first < old.feature_key.size(); first += together) {
        const std::size_t last = std::min(old.feature_key.size(), first + together);
        for (std::size_t f = first; f < last; ++f) {
            const std::size_t i = old.feature_template[f];
            keys_ahead[f - first] = moved_key(i, old.feature_key[f]);
            tables_[i].features().prefetch(keys_ahead[f - first]);
        }
        for (std::size_t f = first; f < last; ++f) {
            const std::size_t i = old.feature_template[f];
            if (tables_[i].features().count(keys_ahead[f - first]) != static_cast<std::int32_t>(final_ids[i].size()))
                throw std::invalid_argument("the feature index has a feature twice");
            final_ids[i].push_back(static_cast<std::int32_t>(f));
        }
    }
    for (std::size_t l = 0; l < labelled_.size(); ++l)
        for (std::int64_t k = old.observation_ptr[l]; k < old.observation_ptr[l + 1]; ++k) {
            tables_[labelled_[l]].features().count(moved_key(labelled_[l], old.observation_key[k]));
            final_ids[labelled_[l]].push_back(static_cast<std::int32_t>(k - old.observation_ptr[l]));
        }

    TokenRows rows = count(tokens, threads, observations);

    // New features follow all others, by template and first sight; new observations follow those of their template.
    std::vector<std::vector<std::uint64_t>> keys(tables_.size());
    for (std::size_t i = 0; i < tables_.size(); ++i) keys[i] = tables_[i].features().keys();
    state_.feature_template = old.feature_template;
    state_.feature_key.resize(old.feature_key.size());
    for (const std::size_t i : plain_)
        for (std::size_t k = 0; k < keys[i].size(); ++k) {
            if (k < final_ids[i].size()) {
                state_.feature_key[static_cast<std::size_t>(final_ids[i][k])] = keys[i][k];
                continue;
            }
            if (state_.feature_key.size() >= static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
                throw std::length_error("more than 2^31 features: raise min_count or use fewer templates");
            final_ids[i].push_back(static_cast<std::int32_t>(state_.feature_key.size()));
            state_.feature_template.push_back(static_cast<std::uint16_t>(i));
            state_.feature_key.push_back(keys[i][k]);
        }
    state_.observation_ptr.assign(1, 0);
    for (const std::size_t i : labelled_) {
        for (std::size_t k = final_ids[i].size(); k < keys[i].size(); ++k) final_ids[i].push_back(static_cast<std::int32_t>(k));
        state_.observation_key.insert(state_.observation_key.end(), keys[i].begin(), keys[i].end());
        state_.observation_ptr.push_back(static_cast<std::int64_t>(state_.observation_key.size()));
    }
    for (std::size_t i = 0; i < tables_.size(); ++i) tables_[i].features().renumber(final_ids[i]);
    list_joins();
    counts_.clear();
    renumber(final_ids, rows, observations);
    return rows;
}

} // namespace chaffinch::features
