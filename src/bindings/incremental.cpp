// Incremental search: trainers of greedy, easiest-first and beam taggers, and the trained tagger.
#include "areas.hpp"
#include "incremental_tagger.hpp"
#include "labelled.hpp"
#include "pair_converter.hpp"

#include <limits>
#include <memory>
#include <variant>

namespace chaffinch::bindings {

namespace {

using namespace online;

using Offsets = std::vector<std::tuple<std::vector<std::int32_t>, std::int64_t, std::int32_t>>; // ..., observations, column
using Needs = std::vector<std::tuple<std::int32_t, std::int32_t, std::int32_t>>;

std::vector<search::LabelContext::Template> templates_of(const Offsets& given_in, std::int64_t Y, bool forward) {
    std::vector<search::LabelContext::Template> out;
    for (const auto& [offsets, observations, column] : given_in) {
        out.push_back({offsets, observations, column});
        expect(column >= -1 && column < 1000, "a label template's column is out of range");
        expect(observations >= 1 && !offsets.empty() && std::ranges::is_sorted(offsets), "a label template is malformed");
        expect(std::ranges::all_of(offsets, [](std::int32_t o) { return o != 0 && o > -1000 && o < 1000; }),
               "label templates look at other positions, less than 1000 away");
        expect(!forward || offsets.back() < 0, "search from left to right reads labels to the left only");
        expect(search::LabelContext::fits(Y, out.back()), "a label template has too many contexts");
    }
    return out;
}

std::optional<search::LabelAutomaton> automaton_of(std::int64_t Y, const Maybe<std::uint8_t, 2>& transitions,
                                           const Maybe<std::uint8_t, 1>& start, const Maybe<std::uint8_t, 1>& end,
                                           const Needs& needs) {
    expect(needs.size() <= 8, "at most 8 needs");
    if (!transitions && !start && !end && needs.empty()) return std::nullopt;
    const auto y = static_cast<std::size_t>(Y);
    expect(!transitions || (transitions->shape(0) == y && transitions->shape(1) == y), "transitions must be [labels, labels]");
    expect(!start || start->size() == y, "start must be [labels]");
    expect(!end || end->size() == y, "end must be [labels]");
    const std::vector<std::uint8_t> all(y * y, 1);
    std::vector<search::LabelAutomaton::Need> rules;
    for (const auto& [label, needed, since] : needs) {
        expect(label >= 0 && label < Y && needed >= 0 && needed < Y && since >= -1 && since < Y, "a need names no label");
        rules.push_back({label, needed, since});
    }
    return search::LabelAutomaton(Y, transitions ? transitions->data() : all.data(), start ? start->data() : all.data(),
                          end ? end->data() : all.data(), rules);
}

// The automaton of a table of states, or that of masks and needs if there is no table.
std::optional<search::LabelAutomaton> table_or(std::int64_t Y, const Maybe<std::int32_t, 1>& label,
                                               const Maybe<std::int32_t, 2>& next, const Maybe<std::uint8_t, 1>& final,
                                               std::optional<search::LabelAutomaton> other) {
    if (!label) return other;
    const auto y = static_cast<std::size_t>(Y), Q = label->size();
    expect(next && final && next->shape(0) == Q && next->shape(1) == y && final->size() == Q && Q >= 1,
           "a table of states needs label [Q], next [Q, labels] and final [Q]");
    const auto labels = span(*label), arcs = span(*next);
    expect(labels[0] == -1, "state 0 is the start and has the label -1");
    std::vector<std::uint8_t> seen(y);
    for (std::size_t q = 1; q < Q; ++q) {
        expect(labels[q] >= 0 && labels[q] < Y, "the label of a state is out of range");
        seen[static_cast<std::size_t>(labels[q])] = 1;
    }
    expect(std::ranges::all_of(seen, [](std::uint8_t s) { return s != 0; }), "every label needs a state");
    for (std::size_t i = 0; i < arcs.size(); ++i)
        expect(arcs[i] == -1 || (arcs[i] > 0 && arcs[i] < static_cast<std::int64_t>(Q) &&
                                 labels[static_cast<std::size_t>(arcs[i])] == static_cast<std::int64_t>(i % y)),
               "an arc leads to a state of another label");
    return search::LabelAutomaton(Y, labels, arcs, span(*final));
}

void check_observations(const In<std::int32_t, 2>& observations, std::int64_t tokens, const search::LabelContext& context) {
    expect(static_cast<std::int64_t>(observations.shape(0)) == tokens &&
               static_cast<std::int64_t>(observations.shape(1)) == context.columns(),
           "observations must be [tokens, columns of the label templates]");
    const std::int64_t D = context.columns();
    std::vector<std::int64_t> most(static_cast<std::size_t>(D), std::numeric_limits<std::int32_t>::max());
    for (std::int64_t l = 0; l < context.size(); ++l)
        if (const auto& t = context.at(l); t.column >= 0) most[t.column] = std::min(most[t.column], t.observations);
    for (std::int64_t i = 0; i < tokens * D; ++i) {
        const std::int32_t o = observations.data()[i];
        expect(o >= -1 && o < most[i % D], "an observation is out of range");
    }
}

void check_known(const Maybe<std::int32_t, 1>& known, std::int64_t tokens, std::int64_t Y) {
    if (!known) return;
    expect(static_cast<std::int64_t>(known->size()) == tokens, "known must have one label or -1 per token");
    expect(std::ranges::all_of(span(*known), [Y](std::int32_t y) { return y >= -1 && y < Y; }), "a known label is out of range");
}

search::Direction direction_named(const std::string& name) {
    if (name == "left-to-right") return search::Direction::left_to_right;
    if (name == "easiest-first") return search::Direction::easiest_first;
    throw nb::value_error("direction must be left-to-right or easiest-first");
}

search::Ease ease_named(const std::string& name) {
    if (name == "score") return search::Ease::score;
    if (name == "margin") return search::Ease::margin;
    throw nb::value_error("ease must be score or margin");
}

class IncrementalTrainer {
  public:
    IncrementalTrainer(In<std::int64_t> sentences, In<std::int64_t> ptr, In<std::int32_t> ids,
                       In<std::int32_t, 2> observations, In<std::int32_t> gold, std::int64_t F, std::int64_t Y,
                       const Offsets& templates, const std::string& search, const std::string& ease, bool global,
                       int tries, std::int64_t width, bool max_violation, const std::string& rule, double amount,
                       std::uint64_t seed, std::int64_t min_updates, Maybe<std::int32_t, 1> known, const Maybe<std::uint8_t, 2>& transitions,
                       const Maybe<std::uint8_t, 1>& start, const Maybe<std::uint8_t, 1>& end, const Needs& needs, Values values)
        : data_(std::move(sentences), std::move(ptr), std::move(ids), std::move(gold), F, Y, std::move(values)),
          observations_(std::move(observations)), known_(std::move(known)), context_(F, Y, templates_of(templates, Y, search != "easiest-first")),
          automaton_(automaton_of(Y, transitions, start, end, needs)), rule_(rule_named(rule, amount)),
          weights_(context_.rows() * machine::padded(Y), learners::is_confident(rule_)) {
        check_observations(observations_, data_.tokens(), context_);
        if (min_updates > 1) weights_.hide(machine::padded(Y), min_updates);
        check_known(known_, data_.tokens(), Y);
        const search::Observed x{data_.examples, observations_.data(), pointer(known_)};
        const search::LabelAutomaton* automaton = automaton_ ? &*automaton_ : nullptr;
        if (search == "beam") {
            expect(width >= 1, "the beam must be at least 1 wide");
            search_ = std::make_unique<search::BeamSearch>(x, data_.gold(), context_, automaton,
                                                   search::BeamSettings{.width = width, .max_violation = max_violation});
        } else {
            const search::IncrementalSettings settings{
                .direction = direction_named(search), .ease = ease_named(ease), .global = global, .tries = tries};
            search_ = std::make_unique<search::IncrementalSearch>(x, data_.gold(), context_, automaton, settings, seed);
        }
    }

    auto epoch(In<std::int64_t> order, double own) {
        data_.check_order(span(order));
        Unlocked released;
        return counted(std::visit(
            [&](auto& search) {
                if constexpr (requires { search->own(own); }) search->own(own);
                return online_epoch(*search, rule_, weights_, span(order));
            },
            search_));
    }

    auto weights(bool average) const { return mean_of(weights_, average); }

    // Template and key of every context, in the order of their rows.
    auto contexts() const {
        const std::int64_t first = context_.zero() + 1;
        std::vector<std::int32_t> of(static_cast<std::size_t>(context_.rows() - first));
        std::vector<std::uint64_t> keys(of.size());
        for (std::int64_t l = 0; l < context_.size(); ++l)
            for (const auto& [key, row] : context_.index(l).keys()) {
                of[row - first] = static_cast<std::int32_t>(l);
                keys[row - first] = key;
            }
        return std::pair(given(std::move(of)), given(std::move(keys)));
    }

  private:
    Labelled data_;
    In<std::int32_t, 2> observations_;
    Maybe<std::int32_t, 1> known_;
    search::LabelContext context_;
    std::optional<search::LabelAutomaton> automaton_;
    learners::AnyRule rule_;
    learners::OnlineWeights weights_;
    std::variant<std::unique_ptr<search::IncrementalSearch>, std::unique_ptr<search::BeamSearch>> search_;
};

class BoundTagger {
  public:
    BoundTagger(In<float, 2> unary, const Offsets& templates, const In<std::int32_t>& context_template,
                const In<std::uint64_t>& context_key, const In<float, 2>& context_weights,
                const Maybe<std::uint8_t, 2>& transitions, const Maybe<std::uint8_t, 1>& start,
                const Maybe<std::uint8_t, 1>& end, const Needs& needs, const Maybe<std::int32_t, 1>& state_label,
                const Maybe<std::int32_t, 2>& state_next, const Maybe<std::uint8_t, 1>& state_final)
        : tagger_(checked(unary, templates, context_template, context_key, context_weights),
                  static_cast<std::int64_t>(unary.shape(1)), span(unary),
                  templates_of(templates, static_cast<std::int64_t>(unary.shape(1)), false), span(context_template),
                  span(context_key), span(context_weights),
                  table_or(static_cast<std::int64_t>(unary.shape(1)), state_label, state_next, state_final,
                           automaton_of(static_cast<std::int64_t>(unary.shape(1)), transitions, start, end, needs))),
          ruled_(state_label.has_value()) {}

    // labels, order, scores [tokens Y] and p [tokens Y]; the last three are empty unless `details`.
    auto tag(In<std::int64_t> sentences, In<std::int64_t> ptr, In<std::int32_t> ids, In<std::int32_t, 2> observations,
             const std::string& direction, const std::string& ease, float temperature, bool details,
             std::size_t threads, const Maybe<std::int32_t, 1>& known, const Maybe<std::uint8_t, 2>& barred,
             const Values& values) const {
        const search::Observed x = observed(sentences, ptr, ids, observations, known, barred, values);
        const auto tokens = ptr.size() - 1;
        const std::size_t cells = details ? tokens * static_cast<std::size_t>(tagger_.labels()) : 0;
        std::vector<std::int32_t> labels(tokens), order(details ? tokens : 0);
        std::vector<float> scores(cells), p(cells);
        expect(temperature > 0, "temperature must be > 0");
        search::Decisions out{.labels = labels.data()};
        if (details) out.order = order.data(), out.scores = scores.data(), out.p = p.data();
        const search::Direction where = direction_named(direction);
        const search::Ease how = ease_named(ease);
        expect(where == search::Direction::easiest_first || tagger_.context().right() == 0,
               "search from left to right reads labels to the left only");
        {
            Unlocked released;
            tagger_.tag(x, where, how, temperature, threads, out);
        }
        return std::tuple(given(std::move(labels)), given(std::move(order)), given(std::move(scores)), given(std::move(p)));
    }

    auto beam(In<std::int64_t> sentences, In<std::int64_t> ptr, In<std::int32_t> ids, In<std::int32_t, 2> observations,
              std::int64_t width, std::int64_t k, std::size_t threads, const Maybe<std::int32_t, 1>& known,
              const Maybe<std::uint8_t, 2>& barred, const Values& values) const {
        const search::Observed x = observed(sentences, ptr, ids, observations, known, barred, values);
        expect(width >= 1 && k >= 1, "width and k must be >= 1");
        expect(tagger_.context().right() == 0, "beam search reads labels to the left only");
        std::vector<std::int32_t> labels((ptr.size() - 1) * static_cast<std::size_t>(k));
        std::vector<double> scores(x.examples.size() * static_cast<std::size_t>(k));
        std::vector<std::int64_t> found(x.examples.size());
        {
            Unlocked released;
            tagger_.beam(x, width, k, threads, labels, scores, found);
        }
        return std::tuple(given(std::move(labels)), given(std::move(scores)), given(std::move(found)));
    }

  private:
    // F, once everything fits together.
    static std::int64_t checked(const In<float, 2>& unary, const Offsets& templates, const In<std::int32_t>& of,
                                const In<std::uint64_t>& keys, const In<float, 2>& weights) {
        const auto Y = static_cast<std::int64_t>(unary.shape(1));
        expect(Y >= 1, "there must be a label");
        const auto made = templates_of(templates, Y, false);
        expect(of.size() == keys.size() && weights.shape(0) == keys.size() && weights.shape(1) == unary.shape(1),
               "contexts: template, key and weights differ in number");
        expect(scorers::all_below(span(of), static_cast<std::int64_t>(made.size())), "a context's template is out of range");
        std::vector<std::uint64_t> spans;
        for (const auto& t : made) {
            std::uint64_t s = static_cast<std::uint64_t>(t.observations);
            for (std::size_t j = 0; j < t.offsets.size(); ++j) s *= static_cast<std::uint64_t>(Y + 3);
            spans.push_back(s);
        }
        std::vector<std::pair<std::int32_t, std::uint64_t>> seen;
        for (std::size_t c = 0; c < keys.size(); ++c) {
            expect(keys.data()[c] < spans[of.data()[c]], "a context's key is out of range");
            seen.emplace_back(of.data()[c], keys.data()[c]);
        }
        std::ranges::sort(seen);
        expect(std::ranges::adjacent_find(seen) == seen.end(), "a context has two rows");
        return static_cast<std::int64_t>(unary.shape(0));
    }

    search::Observed observed(const In<std::int64_t>& sentences, const In<std::int64_t>& ptr, const In<std::int32_t>& ids,
                      const In<std::int32_t, 2>& observations, const Maybe<std::int32_t, 1>& known,
                      const Maybe<std::uint8_t, 2>& barred, const Values& values) const {
        expect(!barred || (ruled_ && barred->shape(0) == ptr.size() - 1 &&
                           static_cast<std::int64_t>(barred->shape(1)) == tagger_.labels()),
               "barred labels need a table of states and must be [tokens, labels]");
        const scorers::SentenceRows x{span(sentences), span(ptr), span(ids), checked_values(values, ids.size())};
        check_examples(x, tagger_.features());
        check_observations(observations, static_cast<std::int64_t>(ptr.size()) - 1, tagger_.context());
        check_known(known, static_cast<std::int64_t>(ptr.size()) - 1, tagger_.labels());
        return {x, observations.data(), pointer(known), pointer(barred)};
    }

    search::IncrementalTagger tagger_;
    bool ruled_;
};

} // namespace

void bind_incremental(nb::module_& m) {
    using Mask = Maybe<std::uint8_t, 1>;
    using Masks = Maybe<std::uint8_t, 2>;
    nb::class_<IncrementalTrainer>(m, "IncrementalTrainer", "Online learning of greedy, easiest-first and beam taggers.")
        .def(nb::init<In<std::int64_t>, In<std::int64_t>, In<std::int32_t>, In<std::int32_t, 2>, In<std::int32_t>,
                      std::int64_t, std::int64_t, const Offsets&, const std::string&, const std::string&, bool, int,
                      std::int64_t, bool, const std::string&, double, std::uint64_t, std::int64_t, Maybe<std::int32_t, 1>,
                      const Masks&, const Mask&, const Mask&, const Needs&, Values>(),
             nb::arg("sentences").noconvert(), nb::arg("ptr").noconvert(), nb::arg("ids").noconvert(),
             nb::arg("observations").noconvert(), nb::arg("gold").noconvert(), nb::kw_only(), nb::arg("F"), nb::arg("Y"),
             nb::arg("templates"), nb::arg("search"), nb::arg("ease") = "score", nb::arg("everywhere") = false,
             nb::arg("tries") = 20, nb::arg("width") = 8, nb::arg("max_violation") = true, nb::arg("rule") = "perceptron",
             nb::arg("amount") = 1.0, nb::arg("seed") = 0, nb::arg("min_updates") = 1,
             nb::arg("known").noconvert() = nb::none(),
             nb::arg("transitions").noconvert() = nb::none(), nb::arg("start").noconvert() = nb::none(),
             nb::arg("end").noconvert() = nb::none(), nb::arg("needs") = Needs(),
             nb::arg("values").noconvert() = nb::none())
        .def("epoch", &IncrementalTrainer::epoch, nb::arg("order").noconvert(), nb::arg("own") = 1.0,
             "One pass in this order: labels decided, mistakes among them, updates. own: probability of keeping a wrong label "
             "as context.")
        .def("weights", &IncrementalTrainer::weights, nb::arg("average") = true, "w, or its mean over the steps so far.")
        .def("contexts", &IncrementalTrainer::contexts, "Template int32 [C] and key uint64 [C] of the rows after row F.");
    nb::class_<BoundTagger>(m, "IncrementalTagger", "A trained greedy, easiest-first or beam tagger.")
        .def(nb::init<In<float, 2>, const Offsets&, const In<std::int32_t>&, const In<std::uint64_t>&,
                      const In<float, 2>&, const Masks&, const Mask&, const Mask&, const Needs&,
                      const Maybe<std::int32_t, 1>&, const Maybe<std::int32_t, 2>&, const Mask&>(),
             nb::arg("unary").noconvert(), nb::arg("templates"), nb::arg("context_template").noconvert(),
             nb::arg("context_key").noconvert(), nb::arg("context_weights").noconvert(),
             nb::arg("transitions").noconvert() = nb::none(), nb::arg("start").noconvert() = nb::none(),
             nb::arg("end").noconvert() = nb::none(), nb::arg("needs") = Needs(),
             nb::arg("state_label").noconvert() = nb::none(), nb::arg("state_next").noconvert() = nb::none(),
             nb::arg("state_final").noconvert() = nb::none())
        .def("tag", &BoundTagger::tag, nb::arg("sentences").noconvert(), nb::arg("ptr").noconvert(),
             nb::arg("ids").noconvert(), nb::arg("observations").noconvert(), nb::arg("direction"), nb::arg("ease"),
             nb::arg("temperature") = 1.0f, nb::arg("details") = false, nb::arg("threads") = 1,
             nb::arg("known").noconvert() = nb::none(), nb::arg("barred").noconvert() = nb::none(),
             nb::arg("values").noconvert() = nb::none(),
             "Labels, and with details the order of decision, scores [tokens Y] and probabilities [tokens Y].")
        .def("beam", &BoundTagger::beam, nb::arg("sentences").noconvert(), nb::arg("ptr").noconvert(),
             nb::arg("ids").noconvert(), nb::arg("observations").noconvert(), nb::arg("width"), nb::arg("k") = 1,
             nb::arg("threads") = 1, nb::arg("known").noconvert() = nb::none(), nb::arg("barred").noconvert() = nb::none(),
             nb::arg("values").noconvert() = nb::none(),
             "Labels [k tokens], scores [N k], counts [N], laid out as by LinearChain.kbest.");
}

} // namespace chaffinch::bindings
