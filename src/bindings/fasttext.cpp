// fastText's classifier over arrays that Python keeps.
#include "fasttext.hpp"
#include "areas.hpp"
#include "arrays.hpp"
#include "parallel.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <optional>
#include <tuple>

namespace chaffinch::bindings {

namespace {

constexpr std::size_t texts_per_block = 32;

// Dense numbers; or codes, the length of a part, centroids, and perhaps codes of norms and norms.
struct Vectors {
    std::optional<In<float, 2>> dense;
    std::optional<In<std::uint8_t, 2>> codes;
    std::int64_t part = 1;
    std::optional<In<float>> centroids;
    std::optional<In<std::uint8_t>> norm_codes;
    std::optional<In<float>> norms;

    model::VectorRows rows() const {
        model::VectorRows made;
        if (dense) {
            made.rows = static_cast<std::int64_t>(dense->shape(0));
            made.D = static_cast<std::int64_t>(dense->shape(1));
            made.dense = span(*dense);
            expect(made.D > 0 && made.rows > 0, "a matrix is empty");
            return made;
        }
        expect(codes && centroids && centroids->size() % 256 == 0, "a quantised matrix needs codes and centroids");
        expect(part >= 1, "the parts of quantised vectors must not be empty");
        made.rows = static_cast<std::int64_t>(codes->shape(0));
        made.D = static_cast<std::int64_t>(centroids->size() / 256);
        made.part = part;
        made.codes = span(*codes);
        made.centroids = span(*centroids);
        expect(static_cast<std::int64_t>(codes->shape(1)) == made.parts(), "codes and parts of vectors differ in number");
        expect(norm_codes.has_value() == norms.has_value(), "norms need codes");
        if (norm_codes) {
            expect(static_cast<std::int64_t>(norm_codes->size()) == made.rows && norms->size() == 256,
                   "the norms of a quantised matrix do not fit its rows");
            made.norm_codes = span(*norm_codes);
            made.norms = span(*norms);
        }
        return made;
    }
};

struct Bound {
    In<std::uint8_t> text;
    In<std::int64_t> ptr;
    Vectors input, output;
    model::FastText model;
};

std::vector<std::string_view> views(const nb::list& texts) {
    std::vector<std::string_view> out;
    out.reserve(nb::len(texts));
    for (nb::handle text : texts) out.push_back(utf8(text));
    return out;
}

template <class Work> void each_text(const Bound& self, const std::vector<std::string_view>& texts, std::size_t threads, Work&& work) {
    const std::size_t blocks = (texts.size() + texts_per_block - 1) / texts_per_block;
    machine::parallel_blocks(blocks, threads, [&](std::size_t b) {
        std::vector<std::int32_t> rows;
        std::vector<float> h(static_cast<std::size_t>(self.model.dimensions()));
        for (std::size_t n = b * texts_per_block; n < std::min(texts.size(), (b + 1) * texts_per_block); ++n) {
            self.model.rows(texts[n], rows);
            self.model.hidden(rows, h);
            work(n, rows, h);
        }
    });
}

nb::list named(const std::vector<model::NamedRow>& rows) {
    nb::list out;
    for (const model::NamedRow& one : rows)
        out.append(nb::make_tuple(one.row, static_cast<int>(one.kind), nb::bytes(one.name.data(), one.name.size())));
    return out;
}

} // namespace

void bind_fasttext(nb::module_& m) {
    nb::class_<Vectors>(m, "VectorRows", "Vectors, dense or as the codes of a product quantiser.")
        .def(
            "__init__",
            [](Vectors* self, std::optional<In<float, 2>> dense, std::optional<In<std::uint8_t, 2>> codes, std::int64_t part,
               std::optional<In<float>> centroids, std::optional<In<std::uint8_t>> norm_codes,
               std::optional<In<float>> norms) {
                new (self) Vectors{dense, codes, part, centroids, norm_codes, norms};
                try {
                    self->rows();
                } catch (...) {
                    self->~Vectors();
                    throw;
                }
            },
            nb::arg("dense").noconvert().none(), nb::arg("codes").noconvert().none(), nb::arg("part"),
            nb::arg("centroids").noconvert().none(), nb::arg("norm_codes").noconvert().none(), nb::arg("norms").noconvert().none())
        .def(
            "vectors",
            [](const Vectors& self, In<std::int32_t> ids, Out<float, 2> out) {
                const model::VectorRows rows = self.rows();
                expect(ids.size() == out.shape(0) && static_cast<std::int64_t>(out.shape(1)) == rows.D,
                       "out must have a row for each id");
                for (const std::int32_t id : span(ids)) expect(id >= 0 && id < rows.rows, "there is no such row");
                std::fill_n(out.data(), out.size(), 0.0f);
                for (std::size_t k = 0; k < ids.size(); ++k) rows.add(ids.data()[k], out.data() + k * out.shape(1));
            },
            nb::arg("ids").noconvert(), nb::arg("out").noconvert(), "out[k] = the vector of row ids[k].");

    nb::class_<Bound>(m, "FastText", "fastText's classifier: means of vectors times vectors of labels.")
        .def(
            "__init__",
            [](Bound* self, In<std::uint8_t> text, In<std::int64_t> ptr, std::int32_t words, In<std::int64_t> counts,
               std::tuple<std::int32_t, std::int32_t, std::int32_t, std::int32_t> ngrams, bool pruned,
               In<std::int32_t> buckets, In<std::int32_t> rows, int output, const Vectors& input_vectors,
               const Vectors& output_vectors) {
                const auto [shortest, longest, word_ngrams, bucket_count] = ngrams;
                expect(output >= 0 && output <= 2 && bucket_count >= 0 && words >= 0, "its settings are out of range");
                expect(ptr.size() >= 1 && words <= static_cast<std::int64_t>(ptr.size()) - 1 &&
                           ptr.size() <= 0x7fffffff,
                       "its words and labels differ from its counts");
                model::FastTextSettings settings;
                settings.words = words;
                settings.labels = static_cast<std::int32_t>(ptr.size()) - 1 - words;
                settings.shortest = shortest;
                settings.longest = longest;
                settings.word_ngrams = word_ngrams;
                settings.buckets = static_cast<std::uint32_t>(bucket_count);
                settings.pruned = pruned;
                settings.output = static_cast<model::LabelOutput>(output);
                new (self) Bound{text, ptr, input_vectors, output_vectors,
                                 model::FastText(settings, span(text), span(ptr), span(counts), span(buckets), span(rows),
                                                 input_vectors.rows(), output_vectors.rows())};
            },
            nb::arg("text").noconvert(), nb::arg("ptr").noconvert(), nb::arg("words"), nb::arg("counts").noconvert(),
            nb::arg("ngrams"), nb::arg("pruned"), nb::arg("buckets").noconvert(), nb::arg("rows").noconvert(),
            nb::arg("output"), nb::arg("input_vectors"), nb::arg("output_vectors"),
            "text, ptr: the words, then the labels, end to end; ngrams: shortest and longest of characters, longest of words, "
            "buckets; output: 0 softmax, 1 sigmoid, 2 tree.")
        .def("find", [](const Bound& self, nb::handle word) { return self.model.find(utf8(word)); }, nb::arg("word"),
             "The number of a word or label, words first; -1: unknown.")
        .def("named_rows", [](const Bound& self, nb::handle text) { return named(self.model.named_rows(utf8(text))); },
             nb::arg("text"), "The rows of a text: (row, 0 word, 1 characters or 2 n-gram of words, name).")
        .def("named_subwords", [](const Bound& self, nb::handle word) { return named(self.model.named_subwords(utf8(word))); },
             nb::arg("word"), "The rows of a word.")
        .def(
            "hidden",
            [](const Bound& self, nb::list texts, std::size_t threads, Out<float, 2> out) {
                const auto read = views(texts);
                expect(out.shape(0) == read.size() && static_cast<std::int64_t>(out.shape(1)) == self.model.dimensions(),
                       "out must be [texts][dimensions]");
                Unlocked released;
                each_text(self, read, threads, [&](std::size_t n, const auto&, const std::vector<float>& h) {
                    std::copy(h.begin(), h.end(), out.data() + n * h.size());
                });
            },
            nb::arg("texts"), nb::arg("threads"), nb::arg("out").noconvert(), "The mean vector of each text.")
        .def(
            "scores",
            [](const Bound& self, nb::list texts, std::size_t threads, In<float> prior, Out<float, 2> out) {
                const auto read = views(texts);
                const auto Y = static_cast<std::size_t>(self.model.settings().labels);
                expect(out.shape(0) == read.size() && out.shape(1) == Y && prior.size() == Y, "out must be [texts][labels]");
                Unlocked released;
                each_text(self, read, threads, [&](std::size_t n, const auto& rows, const std::vector<float>& h) {
                    float* here = out.data() + n * Y;
                    if (rows.empty()) std::copy_n(prior.data(), Y, here);
                    else self.model.scores(h, {here, Y});
                });
            },
            nb::arg("texts"), nb::arg("threads"), nb::arg("prior").noconvert(), nb::arg("out").noconvert(),
            "log(p + 1e-5) of each label; of a text without a known word: prior.")
        .def(
            "best",
            [](const Bound& self, nb::list texts, std::int32_t k, float threshold, std::size_t threads, Out<std::int32_t, 2> labels,
               Out<float, 2> scores) {
                const auto read = views(texts);
                const auto Y = static_cast<std::size_t>(self.model.settings().labels);
                expect(k >= 1 && labels.shape(0) == read.size() && scores.shape(0) == read.size() &&
                           labels.shape(1) == scores.shape(1) && labels.shape(1) == std::min<std::size_t>(static_cast<std::size_t>(k), Y),
                       "labels and scores must be [texts][k]");
                const std::size_t K = labels.shape(1);
                Unlocked released;
                std::fill_n(labels.data(), labels.size(), -1);
                std::fill_n(scores.data(), scores.size(), 0.0f);
                each_text(self, read, threads, [&](std::size_t n, const auto& rows, const std::vector<float>& h) {
                    if (rows.empty()) return;
                    std::vector<float> room(Y);
                    model::FastText::Ranked found;
                    self.model.best(h, k, threshold, room, found);
                    for (std::size_t i = 0; i < found.size(); ++i) {
                        scores.data()[n * K + i] = found[i].first;
                        labels.data()[n * K + i] = found[i].second;
                    }
                });
            },
            nb::arg("texts"), nb::arg("k"), nb::arg("threshold"), nb::arg("threads"), nb::arg("labels").noconvert(),
            nb::arg("scores").noconvert(), "The k best labels of each text and log(p + 1e-5), best first; -1: none.")
        .def(
            "answer",
            [](const Bound& self, In<std::int32_t> rows, Out<float> scores) {
                const auto Y = static_cast<std::size_t>(self.model.settings().labels);
                expect(rows.size() > 0 && scores.size() == Y, "there must be rows, and a score for each label");
                const std::int64_t all = self.input.rows().rows;
                for (const std::int32_t row : span(rows)) expect(row >= 0 && row < all, "there is no such row");
                std::vector<float> h(static_cast<std::size_t>(self.model.dimensions())), room(Y);
                self.model.hidden(span(rows), h);
                self.model.scores(h, {scores.data(), Y});
                model::FastText::Ranked found;
                self.model.best(h, 1, 0.0f, room, found);
                return found.empty() ? -1 : found[0].second;
            },
            nb::arg("rows").noconvert(), nb::arg("scores").noconvert(),
            "The best label of a text with these rows, -1: none; scores: log(p + 1e-5) of each label.")
        .def("paths", [](const Bound& self) {
            auto found = self.model.paths();
            return nb::make_tuple(given(std::move(found.ptr)), given(std::move(found.rows)), given(std::move(found.signs)));
        }, "The rows of the output on the way to each label and their signs, if labels are a tree: ptr, rows, signs.");
}

} // namespace chaffinch::bindings
