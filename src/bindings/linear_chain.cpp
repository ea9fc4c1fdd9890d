// The trained chain: sizes and ids are checked here, once.
#include "converters.hpp"
#include "linear_chain.hpp"

#include "areas.hpp"
#include "arrays.hpp"
#include "readings.hpp"

#include <algorithm>
#include <optional>

namespace chaffinch::bindings {

namespace {

using Row = In<float, 1>;
using Matrix = In<float, 2>;
using Cube = In<float, 3>;

scorers::LinearChain made(Matrix unary, Row start, Row end, Matrix pair, std::optional<Cube> triple,
                 std::optional<Matrix> first, std::optional<Matrix> last) {
    const std::size_t Y = unary.shape(1);
    const auto square = [Y](const Matrix& m) { return m.shape(0) == Y && m.shape(1) == Y; };
    expect(Y > 0, "LinearChain: there must be at least one label");
    expect(start.shape(0) == Y && end.shape(0) == Y && square(pair),
           "LinearChain: start, end and pair must have the labels of unary");
    expect(triple.has_value() == first.has_value() && first.has_value() == last.has_value(),
           "LinearChain: triple, first and last come together");
    if (triple)
        expect(triple->shape(0) == Y && triple->shape(1) == Y && triple->shape(2) == Y && square(*first) &&
                   square(*last),
               "LinearChain: triple, first and last must have the labels of unary");
    return scorers::LinearChain(unary.data(), static_cast<std::int64_t>(unary.shape(0)), static_cast<std::int64_t>(Y),
                       start.data(), end.data(), pair.data(), triple ? triple->data() : nullptr,
                       first ? first->data() : nullptr, last ? last->data() : nullptr);
}

scorers::AskedSpans checked_spans(const scorers::LinearChain& chain, const scorers::SentenceRows& x,
                                  const In<std::int64_t>& span_ptr, const In<std::int64_t>& begin,
                                  const In<std::int64_t>& end, const In<std::int32_t>& kind,
                                  const In<std::int32_t, 2>& opens, const In<std::int32_t, 2>& goes) {
    expect(!chain.second_order(), "LinearChain: spans have probabilities in chains of order 1");
    expect(span_ptr.size() == x.sentences.size() && rises(span(span_ptr), begin.size()),
           "LinearChain: span_ptr must have the spans of each sentence");
    expect(end.size() == begin.size() && kind.size() == begin.size(),
           "LinearChain: begin, end and kind must have equal lengths");
    expect(opens.shape(0) == goes.shape(0), "LinearChain: opens and goes must have a row for each kind");
    const auto within = [](const auto& labels, std::int64_t Y) {
        return std::ranges::all_of(span(labels), [Y](std::int32_t y) { return y >= -1 && y < Y; });
    };
    expect(within(opens, chain.labels()) && within(goes, chain.labels()), "LinearChain: a label is out of range");
    for (std::size_t n = 0; n < x.size(); ++n) {
        const std::int64_t T = x.sentences[n + 1] - x.sentences[n];
        for (std::int64_t s = span_ptr.data()[n]; s < span_ptr.data()[n + 1]; ++s) {
            expect(begin.data()[s] >= 0 && begin.data()[s] < end.data()[s] && end.data()[s] <= T,
                   "LinearChain: a span must have tokens of its sentence");
            expect(kind.data()[s] >= 0 && static_cast<std::size_t>(kind.data()[s]) < opens.shape(0),
                   "LinearChain: a kind is out of range");
        }
    }
    return {span(span_ptr), span(begin), span(end), span(kind), span(opens), span(goes), opens.shape(0)};
}

} // namespace

void bind_linear_chain(nb::module_& m) {
    nb::class_<scorers::LinearChain> bound(m, "LinearChain", "A trained linear chain: rows of feature ids in, labels out.");
    bound
        .def("__init__",
             [](scorers::LinearChain* self, Matrix unary, Row start, Row end, Matrix pair, std::optional<Cube> triple,
                std::optional<Matrix> first, std::optional<Matrix> last) {
                 new (self) scorers::LinearChain(made(unary, start, end, pair, triple, first, last));
             },
             nb::arg("unary").noconvert(), nb::arg("start").noconvert(), nb::arg("end").noconvert(),
             nb::arg("pair").noconvert(), nb::arg("triple").none(), nb::arg("first").none(), nb::arg("last").none())
        .def(
            "tag",
            [](const scorers::LinearChain& self, In<std::int64_t> sentences, In<std::int64_t> ptr, In<std::int32_t> ids,
               std::size_t threads, const Values& values) {
                const scorers::SentenceRows x = checked(self, sentences, ptr, ids, values);
                std::vector<std::int32_t> labels(ptr.size() - 1);
                {
                    Unlocked unlocked;
                    self.tag(x, threads, labels);
                }
                return given(std::move(labels));
            },
            nb::arg("sentences").noconvert(), nb::arg("ptr").noconvert(), nb::arg("ids").noconvert(),
            nb::arg("threads") = 0, nb::arg("values").noconvert() = nb::none(), "The best labels: int32 [tokens].")
        .def(
            "marginals_at",
            [](const scorers::LinearChain& self, In<std::int64_t> sentences, In<std::int64_t> ptr, In<std::int32_t> ids,
               float temperature, std::size_t threads, const Values& values) {
                expect(temperature > 0, "LinearChain: the temperature must be positive");
                const scorers::SentenceRows x = checked(self, sentences, ptr, ids, values);
                std::vector<float> out((ptr.size() - 1) * static_cast<std::size_t>(self.labels()));
                std::vector<double> log_z(x.size());
                {
                    Unlocked unlocked;
                    self.marginals_at(x, temperature, threads, out, log_z);
                }
                return std::tuple(given(std::move(out)), given(std::move(log_z)));
            },
            nb::arg("sentences").noconvert(), nb::arg("ptr").noconvert(), nb::arg("ids").noconvert(),
            nb::arg("temperature"), nb::arg("threads") = 0, nb::arg("values").noconvert() = nb::none(),
            "The same as marginals with every score divided by a temperature; log Z of -inf: no labelling is possible.")
        .def(
            "decide",
            [](const scorers::LinearChain& self, In<std::int64_t> sentences, In<std::int64_t> ptr, In<std::int32_t> ids,
               float temperature, std::size_t threads, const Values& values) {
                expect(temperature > 0, "LinearChain: the temperature must be positive");
                const scorers::SentenceRows x = checked(self, sentences, ptr, ids, values);
                std::vector<std::int32_t> labels(ptr.size() - 1);
                std::vector<float> out((ptr.size() - 1) * static_cast<std::size_t>(self.labels()));
                std::vector<double> log_z(x.size());
                {
                    Unlocked unlocked;
                    self.decide(x, temperature, threads, labels, out, log_z);
                }
                return std::tuple(given(std::move(labels)), given(std::move(out)), given(std::move(log_z)));
            },
            nb::arg("sentences").noconvert(), nb::arg("ptr").noconvert(), nb::arg("ids").noconvert(),
            nb::arg("temperature"), nb::arg("threads") = 0, nb::arg("values").noconvert() = nb::none(),
            "The best labels as of tag, and marginals and log Z as of marginals_at.")
        .def(
            "span_probabilities",
            [](const scorers::LinearChain& self, In<std::int64_t> sentences, In<std::int64_t> ptr, In<std::int32_t> ids,
               double temperature, In<std::int64_t> span_ptr, In<std::int64_t> begin, In<std::int64_t> end,
               In<std::int32_t> kind, In<std::int32_t, 2> opens, In<std::int32_t, 2> goes,
               const std::optional<In<double, 2>>& p, std::size_t threads, const Values& values) {
                expect(temperature > 0, "LinearChain: the temperature must be positive");
                const scorers::SentenceRows x = checked(self, sentences, ptr, ids, values);
                const scorers::AskedSpans spans = checked_spans(self, x, span_ptr, begin, end, kind, opens, goes);
                expect(!p || (p->shape(0) == ptr.size() - 1 && p->shape(1) == static_cast<std::size_t>(self.labels())),
                       "LinearChain: p must have a row for each token");
                std::vector<double> out(begin.size());
                {
                    Unlocked unlocked;
                    self.span_probabilities(x, temperature, spans, p ? p->data() : nullptr, threads, out);
                }
                return given(std::move(out));
            },
            nb::arg("sentences").noconvert(), nb::arg("ptr").noconvert(), nb::arg("ids").noconvert(),
            nb::arg("temperature"), nb::arg("span_ptr").noconvert(), nb::arg("begin").noconvert(),
            nb::arg("end").noconvert(), nb::arg("kind").noconvert(), nb::arg("opens").noconvert(),
            nb::arg("goes").noconvert(), nb::arg("p").noconvert() = nb::none(), nb::arg("threads") = 0,
            nb::arg("values").noconvert() = nb::none(),
            "The probability of each span of a sentence: a label of opens[kind], then labels of goes[kind], none after it.");
    bind_readings(bound);
}

} // namespace chaffinch::bindings
