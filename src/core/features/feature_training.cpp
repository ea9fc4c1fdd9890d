// Builds the feature engine's index from a training text.
#include "feature_engine.hpp"

#include "parallel.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <tuple>
#include <utility>

namespace chaffinch::features {

TokenRows FeatureEngine::fit(const Tokens &tokens, std::int32_t min_count, std::size_t threads,
                             std::vector<std::int32_t> &observations) {
    find_runs(tokens);
    open_tables();
    TokenRows rows = count(tokens, threads, observations);
    std::vector<std::vector<std::int32_t>> renumbered;
    freeze(min_count, renumbered);
    rebuild_tables();
    renumber(renumbered, rows, observations);
    return rows;
}

void FeatureEngine::tally(const Tokens &tokens, std::size_t threads) {
    std::vector<std::int32_t> observations;
    count(tokens, threads, observations);
}

std::vector<std::int64_t> FeatureEngine::rare(std::size_t most) const {
    std::vector<std::int64_t> out(most + 1); // by count; more than `most` in place 0
    for (const std::size_t i : plain_) tables_[i].features().count_counts(out);
    return out;
}

void FeatureEngine::close(std::int32_t min_count) {
    {
        std::vector<std::vector<std::int32_t>> renumbered;
        freeze(min_count, renumbered);
    }
    rebuild_tables();
}

// Gives ids to new runs of capitalised words.
void FeatureEngine::find_runs(const Tokens &tokens) {
    if (!reads_runs_) return;
    const Words &words = *tokens.words[0];
    std::vector<std::uint32_t> traits(tokens.size());
    for (std::size_t t = 0; t < traits.size(); ++t) {
        const std::int32_t id = tokens.ids[0][t];
        traits[t] = id < 0 ? 0 : words.traits[id];
    }
    intern_runs(tokens.ptr, tokens.ids[0], traits, words.texts, runs_);
}

// Ids in order of first sight, template by template: threads share templates, not tables, so the ids do not depend on
// their number. rows.ids[t][slot] holds them until all counts are known.
TokenRows FeatureEngine::count(const Tokens &tokens, std::size_t threads, std::vector<std::int32_t> &observations) {
    const std::size_t T = tokens.size(), L = labelled_.size(), N = tokens.sentences();
    TokenRows rows;
    rows.reserve(T * slots_);
    rows.ptr.assign(T + 1, 0);
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
        const std::size_t last = tokens.stretch(first, most);
        fill(tokens, first, last, frame);
        const std::size_t n = frame.size();
        scratch.resize(total * n);
        machine::parallel_blocks(tables_.size(), threads, [&](std::size_t i) {
            const auto out = std::span(scratch).subspan(start[i] * n, tables_[i].slots() * n);
            tables_[i].count(frame, out);
        });
        const auto from = static_cast<std::size_t>(tokens.ptr[first]);
        for (std::size_t t = 0; t < n; ++t)
            for (std::size_t s = 0; s < slots_; ++s) rows.ids[(from + t) * slots_ + s] = scratch[s * n + t];
        for (std::size_t t = 0; t < n; ++t)
            for (std::size_t l = 0; l < L; ++l)
                observations[(from + t) * L + l] = scratch[(slots_ + l) * n + t];
        first = last;
    }
    return rows;
}

// Replaces first-sight ids by final ones and compacts the rows; features without a final id are dropped.
void FeatureEngine::renumber(const std::vector<std::vector<std::int32_t>> &renumbered, TokenRows &rows,
                             std::vector<std::int32_t> &observations) const {
    const std::size_t L = labelled_.size();
    std::vector<const std::int32_t *> of_slot;
    for (const std::size_t i : plain_)
        of_slot.insert(of_slot.end(), tables_[i].slots(), renumbered[i].data());
    const std::size_t T = rows.ptr.size() - 1;
    rows.ptr[0] = 0;
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
            std::int32_t &seen = observations[t * L + l];
            if (seen >= 0) seen = renumbered[labelled_[l]][seen];
        }
}

// Final ids: features in order of falling count (of equal count: by template, then by first sight), so that frequent
// features lie together; observations likewise, separately for each label template. Features seen fewer than min_count
// times get no id. The tables are empty afterwards, to be built again.
void FeatureEngine::freeze(std::int32_t min_count, std::vector<std::vector<std::int32_t>> &renumbered) {
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
            if (const std::int32_t id = renumbered[i][k]; id >= 0)
                state_.observation_key[from + id] = keys[i][k];
    }

    list_joins();
}

// The keys of all joins, as the tables have them.
void FeatureEngine::list_joins() {
    state_.join_key.clear();
    state_.join_ptr.assign(1, 0);
    for (TemplateTables &t : tables_)
        for (std::size_t s = 0; s + 1 < t.tables.size(); ++s) {
            const auto joined = t.tables[s].keys();
            state_.join_key.insert(state_.join_key.end(), joined.begin(), joined.end());
            state_.join_ptr.push_back(static_cast<std::int64_t>(state_.join_key.size()));
        }
}

} // namespace chaffinch::features
