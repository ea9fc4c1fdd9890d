// Online learning: trainers hold the weights while they move; their epochs run without the GIL.
#include "areas.hpp"
#include "converters.hpp"
#include "labelled.hpp"
#include "online_chain.hpp"

#include <string>

namespace chaffinch::bindings {

namespace {

using namespace online;

// The structured perceptron and its kin on a first-order chain.
class ChainTrainer {
  public:
    ChainTrainer(In<std::int64_t> sentences, In<std::int64_t> ptr, In<std::int32_t> ids, In<std::int32_t> gold,
                 std::int64_t F, std::int64_t Y, std::int64_t pair, std::int64_t start, std::int64_t end,
                 std::int64_t cells, const std::string& rule, double amount, std::int64_t k,
                 Maybe<std::uint8_t, 2> transitions, Maybe<std::uint8_t, 1> start_allowed,
                 Maybe<std::uint8_t, 1> end_allowed, Values values)
        : F_(F), Y_(Y), data_(std::move(sentences), std::move(ptr), std::move(ids), std::move(gold), F, Y, std::move(values)),
          transitions_(std::move(transitions)), start_allowed_(std::move(start_allowed)),
          end_allowed_(std::move(end_allowed)), rule_(rule_named(rule, amount)),
          weights_(cells, learners::is_confident(rule_)),
          search_(data_.examples, data_.gold(), {.Y = Y, .S = machine::padded(Y), .pair = pair, .start = start, .end = end},
                  {.transitions = pointer(transitions_), .start = pointer(start_allowed_), .end = pointer(end_allowed_)},
                  k) {
        const std::int64_t S = machine::padded(Y);
        const auto fits = [&](std::int64_t at, std::int64_t n) { return at >= F * S && at + n <= cells; };
        expect(fits(pair, Y * S) && fits(start, S) && fits(end, S), "pair, start and end must lie after unary, within w");
        expect(k >= 1, "k must be >= 1");
        expect(!transitions_ || (transitions_->shape(0) == static_cast<std::size_t>(Y) &&
                                 transitions_->shape(1) == static_cast<std::size_t>(Y)),
               "transitions must be [labels, labels]");
        expect(!start_allowed_ || start_allowed_->size() == static_cast<std::size_t>(Y), "start_allowed must be [labels]");
        expect(!end_allowed_ || end_allowed_->size() == static_cast<std::size_t>(Y), "end_allowed must be [labels]");
    }

    auto epoch(In<std::int64_t> order) {
        data_.check_order(span(order));
        Unlocked released;
        return counted(online_epoch(search_, rule_, weights_, span(order)));
    }

    void begin(In<float> w) {
        expect(static_cast<std::int64_t>(w.size()) == weights_.size(), "w must be as long as the weights");
        weights_.begin(span(w));
        search_.forget_weights();
    }

    auto weights(bool average) const { return mean_of(weights_, average); }

    void take(In<std::int64_t> sentences, In<std::int64_t> ptr, In<std::int32_t> ids, In<std::int32_t> gold, Values values) {
        data_ = Labelled(std::move(sentences), std::move(ptr), std::move(ids), std::move(gold), F_, Y_, std::move(values));
        search_.take(data_.examples, data_.gold());
    }

    // Arrays of the weights themselves, as long as `self` is there.
    static auto state(const nb::object& self) {
        const learners::OnlineWeights& weights = nb::cast<const ChainTrainer&>(self).weights_;
        const auto shown = [&](std::span<const float> x) {
            return nb::ndarray<nb::numpy, const float, nb::ndim<1>>(x.data(), {x.size()}, self);
        };
        return std::tuple(shown(weights.all_w()), shown(weights.all_u()), shown(weights.all_sigma()), weights.time());
    }

    void resume(In<float> w, In<float> u, In<float> sigma, std::int64_t time) {
        const auto cells = static_cast<std::size_t>(weights_.size());
        expect(w.size() == cells && u.size() == cells && sigma.size() == weights_.all_sigma().size(),
               "w, u and sigma must be as long as the weights");
        expect(time >= 0, "time must be >= 0");
        weights_.resume(span(w), span(u), span(sigma), time);
        search_.forget_weights();
    }

  private:
    std::int64_t F_, Y_;
    Labelled data_;
    Maybe<std::uint8_t, 2> transitions_;
    Maybe<std::uint8_t, 1> start_allowed_, end_allowed_;
    learners::AnyRule rule_;
    learners::OnlineWeights weights_;
    learners::ChainSearch search_;
};

} // namespace

void bind_online(nb::module_& m) {
    nb::class_<ChainTrainer>(m, "ChainTrainer", "Online learning of a first-order chain by exact search.")
        .def(nb::init<In<std::int64_t>, In<std::int64_t>, In<std::int32_t>, In<std::int32_t>, std::int64_t,
                      std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, const std::string&, double,
                      std::int64_t, Maybe<std::uint8_t, 2>, Maybe<std::uint8_t, 1>, Maybe<std::uint8_t, 1>, Values>(),
             nb::arg("sentences").noconvert(), nb::arg("ptr").noconvert(), nb::arg("ids").noconvert(),
             nb::arg("gold").noconvert(), nb::kw_only(), nb::arg("F"), nb::arg("Y"), nb::arg("pair"), nb::arg("start"),
             nb::arg("end"), nb::arg("cells"), nb::arg("rule"), nb::arg("amount") = 1.0, nb::arg("k") = 1,
             nb::arg("transitions").noconvert() = nb::none(), nb::arg("start_allowed").noconvert() = nb::none(),
             nb::arg("end_allowed").noconvert() = nb::none(), nb::arg("values").noconvert() = nb::none())
        .def("epoch", &ChainTrainer::epoch, nb::arg("order").noconvert(),
             "One pass in this order: labels decided, mistakes among them, updates.")
        .def("begin", &ChainTrainer::begin, nb::arg("w").noconvert(), "Start from these weights; the mean counts from here.")
        .def("take", &ChainTrainer::take, nb::arg("sentences").noconvert(), nb::arg("ptr").noconvert(),
             nb::arg("ids").noconvert(), nb::arg("gold").noconvert(), nb::arg("values").noconvert() = nb::none(),
             "Learn from other sentences from now on; the weights stay.")
        .def("state", &ChainTrainer::state, "w, the sums of the average, variances (or none) and steps: the state to resume from, without a copy of it.")
        .def("resume", &ChainTrainer::resume, nb::arg("w").noconvert(), nb::arg("u").noconvert(),
             nb::arg("sigma").noconvert(), nb::arg("time"), "Go on from a state.")
        .def("weights", &ChainTrainer::weights, nb::arg("average") = true, "w, or its mean over the steps so far.");
}

} // namespace chaffinch::bindings
