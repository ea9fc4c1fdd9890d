// The table of contents of the native core.
#include "areas.hpp"

#include <vector>

NB_MODULE(_core, m) {
    using namespace chaffinch::bindings;
    // Objects that a user's own module keeps alive until the interpreter ends are not reported as leaks.
    nanobind::set_leak_warnings(false);
    m.doc() = "The native core of Chaffinch.";
    bind_attributes(m);
    bind_chain(m);
    bind_classify(m);
    bind_corpus(m);
    bind_text_rows(m);
    bind_crf(m);
    bind_derivation(m);
    bind_evaluate(m);
    bind_matching(m);
    bind_matching_margin(m);
    bind_online(m);
    bind_cutting_planes(m);
    bind_margins(m);
    bind_ngrams(m);
    bind_fasttext(m);
    bind_features(m);
    bind_foreign(m);
    bind_incremental(m);
    bind_kernels(m);
    bind_ladder(m);
    bind_linear_chain(m);
    bind_part_rows(m);
    bind_pruned_chain(m);
    bind_random(m);
    bind_score(m);
    bind_segments(m);
    bind_tag_lists(m);
    bind_svm(m);
    bind_span_parser(m);
    bind_text(m);
    bind_tree(m);
    bind_word_classes(m);
    // nanobind keeps every object of these classes in a table, and the process would end if the table could not grow.
    // It grows here, to the number of objects alive at a time.
    std::vector<nanobind::object> many;
    for (int n = 0; n < 1024; ++n) many.push_back(m.attr("Interner")());
}
