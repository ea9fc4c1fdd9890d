// Lists of phrases: which list's longest phrase covers a token, and whether the token begins it.
#pragma once

#include "interner.hpp"

#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace chaffinch::features {

class Phrases {
  public:
    using Lists = std::uint64_t; // bit k: list k
    static constexpr std::int32_t most_lists = 64;
    static constexpr Lists all_lists = ~Lists{0};

    // `fold`: words are compared in lower case; callers pass them lower-cased.
    explicit Phrases(bool fold = true) : fold_(fold), at_end_(1, 0) {}

    bool fold() const { return fold_; }

    // The number of a word in the phrases, or -1.
    std::int32_t word(std::string_view w) const { return words_.find(w); }

    void add(std::span<const std::string_view> phrase, std::int32_t list) {
        std::int32_t node = 0;
        for (const std::string_view w : phrase) {
            const auto [edge, fresh] = edges_.try_emplace(key(node, words_.intern(w)), n_nodes());
            if (fresh) at_end_.push_back(0);
            node = edge->second;
        }
        if (node != 0) at_end_[node] |= Lists{1} << list;
    }

    // The longest phrase of any of `wanted` that starts here: its length (0: none) and all lists it is on.
    std::pair<std::size_t, Lists> longest(std::span<const std::int32_t> words, Lists wanted) const {
        std::pair<std::size_t, Lists> best{0, 0};
        std::int32_t node = 0;
        for (std::size_t i = 0; i < words.size() && words[i] >= 0; ++i) {
            const auto edge = edges_.find(key(node, words[i]));
            if (edge == edges_.end()) break;
            node = edge->second;
            if (at_end_[node] & wanted) best = {i + 1, at_end_[node]};
        }
        return best;
    }

    // Every set of lists that some phrase is on, in order of first sight.
    std::vector<Lists> combinations() const {
        std::vector<Lists> out;
        std::unordered_map<Lists, bool> seen;
        for (const Lists lists : at_end_)
            if (lists != 0 && seen.try_emplace(lists, true).second) out.push_back(lists);
        return out;
    }

  private:
    std::int32_t n_nodes() const { return static_cast<std::int32_t>(at_end_.size()); }
    static std::uint64_t key(std::int32_t node, std::int32_t word) {
        return static_cast<std::uint64_t>(node) << 32 | static_cast<std::uint32_t>(word);
    }

    bool fold_;
    text::Interner words_;
    std::unordered_map<std::uint64_t, std::int32_t> edges_; // (node, word) -> node
    std::vector<Lists> at_end_;                             // [nodes] lists whose phrase ends here
};

} // namespace chaffinch::features
