#include "sentence_columns.hpp"

#include "word_functions.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace chaffinch::features {

namespace {

constexpr std::array<std::int64_t, 9> starts{0, 1, 2, 3, 4, 5, 7, 10, 15}; // of the buckets of a distance

std::int32_t bucket(std::int64_t n) {
    return static_cast<std::int32_t>(std::ranges::upper_bound(starts, n) - starts.begin()) - 1;
}

std::vector<std::string> bucket_names() {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < starts.size(); ++i) {
        const std::string low = std::to_string(starts[i]);
        if (i + 1 == starts.size())
            out.push_back(low + "+");
        else if (starts[i + 1] == starts[i] + 1)
            out.push_back(low);
        else
            out.push_back(low + "-" + std::to_string(starts[i + 1] - 1));
    }
    return out;
}

void join(std::span<const std::int32_t> words, const text::Interner &strings, std::string &out) {
    out.clear();
    for (const std::int32_t w : words) {
        if (!out.empty()) out += ' ';
        out += strings[w];
    }
}

// out[t] = how many of the tokens before t have the trait, at most 3.
void count_so_far(std::span<const std::uint32_t> traits, std::uint32_t trait, std::int32_t *out) {
    std::int32_t n = 0;
    for (std::size_t t = 0; t < traits.size(); ++t) {
        out[t] = n;
        if ((traits[t] & trait) && n < 3) ++n;
    }
}

void mark_phrases(std::span<const std::int32_t> ids, const Phrases &phrases, Phrases::Lists wanted,
                  std::span<const Phrases::Lists> combinations, std::int32_t *out) {
    std::fill_n(out, ids.size(), -1);
    for (std::size_t t = 0; t < ids.size();) {
        const auto [length, lists] = phrases.longest(ids.subspan(t), wanted);
        if (length == 0) {
            ++t;
            continue;
        }
        std::int32_t base = 0;
        if (wanted == Phrases::all_lists)
            base =
                2 * static_cast<std::int32_t>(std::ranges::find(combinations, lists) - combinations.begin());
        for (std::size_t i = 0; i < length; ++i) out[t + i] = base + (i > 0);
        t += length;
    }
}

// The column's value for token t from another use of its word; -1 if there is none. value(token): of the argument's
// column; value(-1): "none".
template <class Value>
std::int32_t of_another_use(const Elsewhere &uses, SentenceFunction function, std::size_t t, Value value) {
    const bool nearest =
        function == SentenceFunction::elsewhere_before || function == SentenceFunction::elsewhere_after;
    const std::int32_t use = nearest ? uses.nearest[t] : uses.longest[t];
    if (use < 0) return -1;
    const CapitalRun &run = uses.runs[uses.run_of[use]];
    if (function == SentenceFunction::elsewhere_before) return value(run.before);
    if (function == SentenceFunction::elsewhere_after) return value(run.after);
    if (function == SentenceFunction::elsewhere_first) return value(run.first);
    return 4 * (std::min(run.last - run.first, 4) - 1) + std::min(use - run.first, 3);
}

} // namespace

void fill_sentence_column(std::size_t c, const SentenceColumn &column, std::int32_t n_argument,
                          const Sentences &input, Frame &frame) {
    const auto values = frame.column(c);
    for (std::size_t s = 0; s + 1 < frame.bounds.size(); ++s) {
        const auto first = static_cast<std::size_t>(frame.bounds[s]);
        const auto T = static_cast<std::size_t>(frame.bounds[s + 1]) - first;
        if (T == 0) continue;
        const auto traits = input.traits.subspan(first, T);
        std::int32_t *out = values.data() + frame.cell[first];
        const std::int32_t *argument =
            n_argument >= 0 ? frame.column(column.argument).data() + frame.cell[first] : nullptr;
        switch (column.function) {
        case SentenceFunction::bos:
            std::fill_n(out, T, -1);
            out[0] = 0;
            break;
        case SentenceFunction::eos:
            std::fill_n(out, T, -1);
            out[T - 1] = 0;
            break;
        case SentenceFunction::brackets: {
            std::int32_t depth = 0;
            for (std::size_t t = 0; t < T; ++t) {
                if (traits[t] & text::closes_bracket) depth = std::max(0, depth - 1);
                out[t] = depth > 0;
                if (traits[t] & text::opens_bracket) ++depth;
            }
            break;
        }
        case SentenceFunction::commas:
            count_so_far(traits, text::is_comma, out);
            break;
        case SentenceFunction::numbers:
            count_so_far(traits, text::is_number, out);
            break;
        case SentenceFunction::position:
            for (std::size_t t = 0; t < T; ++t) out[t] = bucket(static_cast<std::int64_t>(t));
            break;
        case SentenceFunction::remaining:
            for (std::size_t t = 0; t < T; ++t) out[t] = bucket(static_cast<std::int64_t>(T - 1 - t));
            break;
        case SentenceFunction::sentence_length:
            std::fill_n(out, T, bucket(static_cast<std::int64_t>(T)));
            break;
        case SentenceFunction::mostly_capitals: {
            const auto upper = std::ranges::count_if(traits, [](auto t) { return (t & text::is_upper) != 0; });
            const auto lower = std::ranges::count_if(traits, [](auto t) { return (t & text::is_lower) != 0; });
            std::fill_n(out, T, upper > lower);
            break;
        }
        case SentenceFunction::first_word:
            std::fill_n(out, T, argument[0]);
            break;
        case SentenceFunction::last_word:
            std::fill_n(out, T, argument[T - 1]);
            break;
        case SentenceFunction::last_punctuation:
        case SentenceFunction::last_preposition: {
            const std::uint32_t trait =
                column.function == SentenceFunction::last_punctuation ? text::is_punctuation : text::is_preposition;
            std::int32_t last = n_argument; // none so far
            for (std::size_t t = 0; t < T; ++t) {
                out[t] = last;
                if (traits[t] & trait) last = argument[t]; // -1 if it has no id
            }
            break;
        }
        case SentenceFunction::seen: {
            std::uint32_t mask = 0;
            for (std::size_t t = 0; t < T; ++t) {
                out[t] = static_cast<std::int32_t>(mask);
                mask |= traits[t] / text::trigger;
            }
            break;
        }
        case SentenceFunction::run_length:
            std::fill_n(out, T, 0);
            each_run(traits, [&](std::size_t a, std::size_t b) {
                std::fill(out + a, out + b, static_cast<std::int32_t>(std::min<std::size_t>(b - a, 4)));
            });
            break;
        case SentenceFunction::run_place:
            std::fill_n(out, T, -1);
            each_run(traits, [&](std::size_t a, std::size_t b) {
                for (std::size_t t = a; t < b; ++t)
                    out[t] = static_cast<std::int32_t>(std::min<std::size_t>(t - a, 3));
            });
            break;
        case SentenceFunction::run: {
            std::string text;
            std::fill_n(out, T, -1);
            each_run(traits, [&](std::size_t a, std::size_t b) {
                join(input.words.subspan(first + a, b - a), *input.strings, text);
                std::fill(out + a, out + b, input.runs->find(text));
            });
            break;
        }
        case SentenceFunction::quoted: {
            bool inside = false;
            for (std::size_t t = 0; t < T; ++t) {
                const bool opens = traits[t] & text::opens_quote, closes = traits[t] & text::closes_quote;
                out[t] = inside && !opens && !closes ? 0 : -1;
                if (opens || closes) inside = opens && !(closes && inside);
            }
            break;
        }
        case SentenceFunction::elsewhere:
            std::copy_n(input.elsewhere->cases.begin() + static_cast<std::ptrdiff_t>(first), T, out);
            break;
        case SentenceFunction::elsewhere_before:
        case SentenceFunction::elsewhere_after:
        case SentenceFunction::elsewhere_run:
        case SentenceFunction::elsewhere_first: {
            const auto value = [&](std::int32_t token) {
                return token < 0 ? n_argument : frame.column(column.argument)[frame.cell[token]];
            };
            for (std::size_t t = 0; t < T; ++t)
                out[t] = of_another_use(*input.elsewhere, column.function, first + t, value);
            break;
        }
        case SentenceFunction::phrases:
            mark_phrases(input.phrase_ids.subspan(first, T), *input.phrases, Phrases::all_lists,
                         input.combinations, out);
            break;
        case SentenceFunction::phrases_list:
            mark_phrases(input.phrase_ids.subspan(first, T), *input.phrases,
                         Phrases::Lists{1} << column.argument, {}, out);
            break;
        }
    }
}

std::vector<std::string> fixed_values(SentenceFunction function, std::span<const std::string> triggers,
                                      std::span<const std::string> lists,
                                      std::span<const Phrases::Lists> combinations) {
    switch (function) {
    case SentenceFunction::bos:
    case SentenceFunction::eos:
    case SentenceFunction::quoted:
        return {"yes"};
    case SentenceFunction::brackets:
    case SentenceFunction::mostly_capitals:
        return {"no", "yes"};
    case SentenceFunction::commas:
    case SentenceFunction::numbers:
    case SentenceFunction::run_place:
        return {"0", "1", "2", "3+"};
    case SentenceFunction::run_length:
        return {"0", "1", "2", "3", "4+"};
    case SentenceFunction::position:
    case SentenceFunction::remaining:
    case SentenceFunction::sentence_length:
        return bucket_names();
    case SentenceFunction::elsewhere:
        return {"capitalised", "lower", "both"};
    case SentenceFunction::elsewhere_run: {
        std::vector<std::string> out;
        for (const char *length : {"1", "2", "3", "4+"})
            for (const char *place : {"1", "2", "3", "4+"}) out.push_back(place + std::string(" of ") + length);
        return out;
    }
    case SentenceFunction::phrases_list:
        return {"B", "I"};
    case SentenceFunction::seen: {
        std::vector<std::string> out(std::size_t{1} << triggers.size());
        for (std::size_t mask = 0; mask < out.size(); ++mask)
            for (std::size_t i = 0; i < triggers.size(); ++i)
                if (mask >> i & 1) out[mask] += (out[mask].empty() ? "" : "+") + triggers[i];
        return out;
    }
    case SentenceFunction::phrases: {
        std::vector<std::string> out;
        for (const Phrases::Lists set : combinations) {
            std::string names;
            for (std::size_t i = 0; i < lists.size(); ++i)
                if (set >> i & 1) names += (names.empty() ? "" : "+") + lists[i];
            out.push_back("B-" + names);
            out.push_back("I-" + names);
        }
        return out;
    }
    case SentenceFunction::first_word:
    case SentenceFunction::last_word:
    case SentenceFunction::last_punctuation:
    case SentenceFunction::last_preposition:
    case SentenceFunction::elsewhere_before:
    case SentenceFunction::elsewhere_after:
    case SentenceFunction::elsewhere_first:
    case SentenceFunction::run:
        return {};
    }
    return {};
}

void intern_runs(std::span<const std::int64_t> ptr, std::span<const std::int32_t> words,
                 std::span<const std::uint32_t> traits, const text::Interner &strings, text::Interner &runs) {
    std::string text;
    for (std::size_t s = 0; s + 1 < ptr.size(); ++s) {
        const auto first = static_cast<std::size_t>(ptr[s]);
        const auto T = static_cast<std::size_t>(ptr[s + 1] - ptr[s]);
        each_run(traits.subspan(first, T), [&](std::size_t a, std::size_t b) {
            join(words.subspan(first + a, b - a), strings, text);
            runs.intern(text);
        });
    }
}

} // namespace chaffinch::features
