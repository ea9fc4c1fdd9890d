// Word classes learned from plain text.
#include "converters.hpp"
#include "word_classes.hpp"
#include "areas.hpp"
#include "arrays.hpp"

namespace chaffinch::bindings {

void bind_word_classes(nb::module_ &m) {
    nb::class_<text::WordClasses>(m, "WordClasses",
                            "The exchange algorithm over a text of ids, most frequent id first.")
        .def(
            "__init__",
            [](text::WordClasses *self, In<std::int64_t> ptr, In<std::int32_t> ids, std::int32_t types,
               std::int32_t classes) {
                if (classes < 1 || types < classes) throw nb::value_error("need 1 <= classes <= types");
                if (ptr.size() == 0 || ptr.data()[0] != 0 ||
                    ptr.data()[ptr.size() - 1] != static_cast<std::int64_t>(ids.size()))
                    throw nb::value_error("sentence bounds do not fit the ids");
                for (std::size_t i = 1; i < ptr.size(); ++i)
                    if (ptr.data()[i] < ptr.data()[i - 1])
                        throw nb::value_error("sentence bounds must not fall");
                for (const std::int32_t id : span(ids))
                    if (id < -1 || id >= types) throw nb::value_error("id out of range");
                new (self) text::WordClasses(span(ptr), span(ids), types, classes);
            },
            nb::arg("ptr").noconvert(), nb::arg("ids").noconvert(), nb::arg("types"), nb::arg("classes"),
            nb::call_guard<Unlocked>())
        .def("improve", &text::WordClasses::improve, nb::call_guard<Unlocked>(),
             "One round over all words: how many changed class.")
        .def(
            "shrink",
            [](text::WordClasses &self, std::int32_t classes) {
                if (classes < 1) throw nb::value_error("classes must be >= 1");
                self.shrink(classes);
            },
            nb::arg("classes"), nb::call_guard<Unlocked>(),
            "Joins classes until `classes` are left.")
        .def("score", &text::WordClasses::score, "Log likelihood of the text's classes, up to a constant.")
        .def("classes",
             [](const text::WordClasses &self) {
                 return given(std::vector<std::int32_t>(self.classes().begin(), self.classes().end()));
             })
        .def("paths", &text::WordClasses::paths, nb::call_guard<Unlocked>(),
             "The bit path of every class.");
}

} // namespace chaffinch::bindings
