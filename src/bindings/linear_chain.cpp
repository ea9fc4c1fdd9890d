// The trained chain: sizes and ids are checked here, once.
#include "converters.hpp"
#include "linear_chain.hpp"

#include "areas.hpp"
#include "arrays.hpp"
#include "readings.hpp"

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
            "The same as marginals with every score divided by a temperature; log Z of -inf: no labelling is possible.");
    bind_readings(bound);
}

} // namespace chaffinch::bindings
