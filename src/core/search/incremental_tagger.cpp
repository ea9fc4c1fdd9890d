#include "incremental_tagger.hpp"

#include "parallel.hpp"
#include "stop.hpp"

#include <algorithm>

namespace chaffinch::search {

namespace {

constexpr std::size_t sentences_per_block = 64;

template <class Work> void by_block(std::size_t sentences, std::size_t threads, Work&& work) {
    const std::size_t blocks = (sentences + sentences_per_block - 1) / sentences_per_block;
    machine::parallel_blocks(blocks, threads, [&](std::size_t b) {
        work(b * sentences_per_block, std::min(sentences, (b + 1) * sentences_per_block));
    });
}

} // namespace

IncrementalTagger::IncrementalTagger(std::int64_t F, std::int64_t Y, std::span<const float> unary,
                                     std::vector<LabelContext::Template> templates,
                                     std::span<const std::int32_t> context_template,
                                     std::span<const std::uint64_t> context_key, std::span<const float> context_weights,
                                     std::optional<LabelAutomaton> automaton)
    : F_(F), context_(F, Y, std::move(templates)), automaton_(std::move(automaton)) {
    const std::int64_t S = machine::padded(Y);
    for (std::size_t c = 0; c < context_key.size(); ++c) context_.set(context_template[c], context_key[c]);
    w_.assign(static_cast<std::size_t>(context_.rows() * S), 0.0f);
    for (std::int64_t f = 0; f < F; ++f) std::copy_n(unary.data() + f * Y, Y, w_.data() + f * S);
    for (std::size_t c = 0; c < context_key.size(); ++c)
        std::copy_n(context_weights.data() + static_cast<std::int64_t>(c) * Y, Y,
                    w_.data() + (F + 1 + static_cast<std::int64_t>(c)) * S);
}

void IncrementalTagger::tag(const Observed& x, Direction direction, Ease ease, float temperature, std::size_t threads,
                            const Decisions& out) const {
    const std::int64_t Y = context_.labels();
    by_block(x.examples.size(), threads, [&](std::size_t first, std::size_t last) {
        LabelState state(context_, automaton());
        Frontier frontier(state, ease);
        for (std::size_t n = first; n < last; ++n) {
            if (x.examples.sentences[n + 1] == x.examples.sentences[n]) continue;
            state.open(x, static_cast<std::int64_t>(n));
            std::int32_t step = 0;
            const auto write = [&](std::int64_t t, const Choice& choice) {
                const std::int64_t at = state.first_token() + t;
                if (out.labels) out.labels[at] = choice.label;
                if (out.order) out.order[at] = step++;
                if (out.scores)
                    for (std::int64_t y = 0; y < Y; ++y)
                        out.scores[at * Y + y] = state.legal(t, y) ? state.scores(t)[y] : Agenda::never;
                if (out.p) state.softmax(t, temperature, out.p + at * Y);
            };
            if (direction == Direction::left_to_right)
                left_to_right(state, w_.data(), write);
            else
                easiest_first(state, frontier, w_.data(), write);
        }
    });
}

void IncrementalTagger::beam(const Observed& x, std::int64_t width, std::int64_t k, std::size_t threads,
                             std::span<std::int32_t> labels, std::span<double> scores,
                             std::span<std::int64_t> found) const {
    by_block(x.examples.size(), threads, [&](std::size_t first, std::size_t last) {
        Beam beam(context_, automaton(), width);
        for (std::size_t n = first; n < last; ++n) {
            beam.open(x, static_cast<std::int64_t>(n), w_.data());
            const std::int64_t T = beam.length();
            found[n] = 0;
            if (T == 0) continue;
            for (std::int64_t t = 0; t < T; ++t) machine::check_stop(), beam.extend(t, nullptr, false);
            const auto layer = beam.layer(T - 1);
            found[n] = std::min(k, static_cast<std::int64_t>(layer.size()));
            for (std::int64_t i = 0; i < found[n]; ++i) {
                beam.path(T - 1, i, labels.data() + k * x.examples.sentences[n] + i * T);
                scores[static_cast<std::int64_t>(n) * k + i] = layer[i].score;
            }
        }
    });
}

} // namespace chaffinch::search
