// One function per area; module.cpp calls them all.
#pragma once

#include <nanobind/nanobind.h>

namespace chaffinch::bindings {

void bind_attributes(nanobind::module_& m);
void bind_chain(nanobind::module_& m);
void bind_classify(nanobind::module_& m);
void bind_corpus(nanobind::module_& m);
void bind_text_rows(nanobind::module_& m);
void bind_crf(nanobind::module_& m);
void bind_cutting_planes(nanobind::module_& m);
void bind_derivation(nanobind::module_& m);
void bind_evaluate(nanobind::module_& m);
void bind_matching(nanobind::module_& m);
void bind_matching_margin(nanobind::module_& m);
void bind_online(nanobind::module_& m);
void bind_margins(nanobind::module_& m);
void bind_ngrams(nanobind::module_& m);
void bind_fasttext(nanobind::module_& m);
void bind_features(nanobind::module_& m);
void bind_foreign(nanobind::module_& m);
void bind_incremental(nanobind::module_& m);
void bind_kernels(nanobind::module_& m);
void bind_ladder(nanobind::module_& m);
void bind_linear_chain(nanobind::module_& m);
void bind_part_rows(nanobind::module_& m);
void bind_pruned_chain(nanobind::module_& m);
void bind_random(nanobind::module_& m);
void bind_score(nanobind::module_& m);
void bind_segments(nanobind::module_& m);
void bind_tag_lists(nanobind::module_& m);
void bind_svm(nanobind::module_& m);
void bind_span_parser(nanobind::module_& m);
void bind_text(nanobind::module_& m);
void bind_tree(nanobind::module_& m);
void bind_word_classes(nanobind::module_& m);

} // namespace chaffinch::bindings
