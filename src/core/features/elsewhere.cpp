#include "elsewhere.hpp"

#include <algorithm>

namespace chaffinch::features {

namespace {

// The capitalised uses of a word so far.
struct Uses {
    std::int32_t capitalised = 0, lower = 0;   // uses within sentences, and in small letters
    std::int32_t last = -1;                    // token
    std::int32_t longest = -1, second = -1;    // tokens in the longest run, and in the longest of the others
};

void find_runs(std::span<const std::int64_t> ptr, std::span<const std::uint32_t> traits, Elsewhere &out) {
    for (std::size_t s = 0; s + 1 < ptr.size(); ++s) {
        const std::int64_t begin = ptr[s], end = ptr[s + 1];
        const auto sentence = traits.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
        each_run(sentence, [&](std::size_t a, std::size_t b) {
            const auto first = static_cast<std::int32_t>(begin) + static_cast<std::int32_t>(a);
            const auto last = static_cast<std::int32_t>(begin) + static_cast<std::int32_t>(b);
            std::fill(out.run_of.begin() + first, out.run_of.begin() + last, static_cast<std::int32_t>(out.runs.size()));
            out.runs.push_back({first, last, first > begin ? first - 1 : -1, last < end ? last : -1});
        });
    }
}

} // namespace

Elsewhere find_elsewhere(std::span<const std::int64_t> ptr, std::span<const std::int32_t> lower,
                         std::span<const std::uint32_t> traits, std::span<const std::int32_t> groups) {
    const std::size_t T = lower.size(), N = ptr.size() - 1;
    Elsewhere out;
    out.cases.assign(T, -1);
    out.nearest.assign(T, -1);
    out.longest.assign(T, -1);
    out.run_of.assign(T, -1);
    find_runs(ptr, traits, out);

    std::int32_t most = -1;
    for (const std::int32_t w : lower) most = std::max(most, w);
    std::vector<Uses> uses(static_cast<std::size_t>(most) + 1);
    std::vector<std::int32_t> sentence(T);
    for (std::size_t s = 0; s < N; ++s)
        std::fill(sentence.begin() + ptr[s], sentence.begin() + ptr[s + 1], static_cast<std::int32_t>(s));

    const auto length = [&](std::int32_t t) {
        return t < 0 ? 0 : out.runs[out.run_of[t]].last - out.runs[out.run_of[t]].first;
    };
    const auto each = [&](std::size_t from, std::size_t to, auto visit) {
        for (std::int64_t t = ptr[from]; t < ptr[to]; ++t)
            if (lower[t] >= 0) visit(static_cast<std::int32_t>(t), uses[lower[t]]);
    };
    const auto within = [&](std::int32_t t) { return (traits[t] & text::is_capitalised) && t != ptr[sentence[t]]; };
    const auto small = [&](std::int32_t t) { return (traits[t] & text::is_lower) != 0; };

    for (std::size_t from = 0, to = 0; from < N; from = to) {
        for (to = from + 1; to < N && !groups.empty() && groups[to] == groups[from];) ++to;
        each(from, to, [&](std::int32_t t, Uses &u) {
            u.capitalised += within(t);
            u.lower += small(t);
            if (out.run_of[t] < 0) return;
            if (u.last >= 0) {
                out.nearest[t] = u.last;
                // This is the next use after the last one: is it nearer than that one's previous use?
                const std::int32_t before = out.nearest[u.last];
                if (before < 0 || sentence[t] - sentence[u.last] < sentence[u.last] - sentence[before])
                    out.nearest[u.last] = t;
            }
            u.last = t;
            if (length(t) > length(u.longest))
                u.second = u.longest, u.longest = t;
            else if (length(t) > length(u.second))
                u.second = t;
        });
        each(from, to, [&](std::int32_t t, const Uses &u) {
            const bool capitalised = u.capitalised > within(t), lowered = u.lower > small(t);
            out.cases[t] = static_cast<std::int8_t>(capitalised && lowered ? 2 : lowered ? 1 : capitalised ? 0 : -1);
            if (out.run_of[t] >= 0) out.longest[t] = u.longest == t ? u.second : u.longest;
        });
        each(from, to, [](std::int32_t, Uses &u) { u = {}; });
    }
    return out;
}

} // namespace chaffinch::features
