// Features of k-best lists of labellings.
#include "areas.hpp"
#include "arrays.hpp"
#include "score.hpp"
#include "tag_lists.hpp"

#include <algorithm>

namespace chaffinch::bindings {

namespace {

bool bounds(std::span<const std::int64_t> b) {
    return !b.empty() && b.front() == 0 && std::ranges::is_sorted(b);
}

} // namespace

void bind_tag_lists(nb::module_& m) {
    m.def(
        "string_keys",
        [](nb::list texts) {
            std::vector<std::uint64_t> keys;
            keys.reserve(texts.size());
            for (nb::handle text : texts) keys.push_back(features::string_key(utf8(text)));
            return given(std::move(keys));
        },
        nb::arg("texts"), "A 64-bit key for each string, the same on every machine.");
    m.def(
        "tag_list_features",
        [](In<std::int64_t> lists, In<std::int64_t> sentences, In<std::int32_t> tags, In<std::uint64_t> label_keys,
           In<std::uint64_t> label_spans, In<std::uint8_t> opens, In<std::uint8_t> closes, In<std::uint64_t> words,
           In<std::uint64_t> shapes, In<std::uint64_t> extra, std::size_t threads) {
            const std::size_t Y = label_keys.size();
            expect(label_spans.size() == Y && opens.size() == Y && closes.size() == Y, "labels differ in number");
            expect(bounds(span(lists)) && bounds(span(sentences)), "bounds must start at 0 and not fall");
            expect(lists.size() == sentences.size(), "there must be one sentence for each list");
            const auto N = static_cast<std::int64_t>(lists.size()) - 1;
            const auto tokens = static_cast<std::size_t>(sentences.data()[N]);
            expect(words.size() == tokens && shapes.size() == tokens, "there must be one word and shape per token");
            expect(extra.size() == 0 || extra.size() == tokens, "the further column must have one value per token");
            std::int64_t wanted = 0;
            for (std::int64_t n = 0; n < N; ++n)
                wanted += (lists.data()[n + 1] - lists.data()[n]) * (sentences.data()[n + 1] - sentences.data()[n]);
            expect(static_cast<std::int64_t>(tags.size()) == wanted, "there must be a label per token and candidate");
            expect(scorers::all_below(span(tags), static_cast<std::int64_t>(Y)), "a label is out of range");
            features::KeyedRows rows;
            {
                Unlocked released;
                std::vector<features::TagLabel> labels(Y);
                for (std::size_t y = 0; y < Y; ++y)
                    labels[y] = {label_keys.data()[y], label_spans.data()[y], opens.data()[y] != 0, closes.data()[y] != 0};
                rows = features::tag_list_features({span(lists), span(sentences), span(tags), labels, span(words), span(shapes),
                                          span(extra)},
                                         threads);
            }
            return nb::make_tuple(given(std::move(rows.ptr)), given(std::move(rows.keys)), given(std::move(rows.values)));
        },
        nb::arg("lists").noconvert(), nb::arg("sentences").noconvert(), nb::arg("tags").noconvert(),
        nb::arg("label_keys").noconvert(), nb::arg("label_spans").noconvert(), nb::arg("opens").noconvert(),
        nb::arg("closes").noconvert(), nb::arg("words").noconvert(), nb::arg("shapes").noconvert(),
        nb::arg("extra").noconvert(), nb::arg("threads"), "The features of every candidate: ptr, keys, counts.");
}

} // namespace chaffinch::bindings
