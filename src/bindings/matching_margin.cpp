// The structured margin on matchings, and the places of fertile ones.
#include "areas.hpp"
#include "checked_rows.hpp"
#include "fertile.hpp"
#include "matching_frank_wolfe.hpp"
#include "pair_converter.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

namespace chaffinch::bindings {

namespace {

using Rows = std::tuple<In<std::int64_t>, In<std::int32_t>, In<float>>;

class MatchingTrainer {
  public:
    MatchingTrainer(std::vector<std::pair<std::int64_t, std::int64_t>> sizes, std::vector<std::vector<Rows>> rows,
            std::vector<In<double>> gold, std::vector<In<double>> cost, std::int64_t F, bool fertile, In<double> C,
            bool average)
        : rows_(std::move(rows)), gaps_(sizes.size()), F_(static_cast<std::size_t>(F)),
          solver_(examples(sizes, rows_, gold, cost, C, F, fertile), F, fertile, average) {}

    void run(In<std::int64_t> order) {
        const auto N = static_cast<std::int64_t>(gaps_.size());
        expect(std::ranges::all_of(span(order), [N](std::int64_t n) { return n >= 0 && n < N; }),
               "order has a number that is not an example");
        Unlocked released;
        solver_.run(span(order), gaps_);
    }

    std::pair<double, double> measured() {
        Unlocked released;
        const learners::MarginObjective o = solver_.measured(gaps_);
        return {o.primal, o.dual};
    }

    auto gaps() const { return given(std::vector<double>(gaps_)); }

    auto weights() const {
        std::vector<double> out(F_);
        {
            Unlocked released;
            solver_.weights(out);
        }
        return given(std::move(out));
    }

  private:
    static std::vector<learners::MatchingExample> examples(const std::vector<std::pair<std::int64_t, std::int64_t>>& sizes,
                                                 const std::vector<std::vector<Rows>>& rows,
                                                 const std::vector<In<double>>& gold,
                                                 const std::vector<In<double>>& cost, const In<double>& C, std::int64_t F,
                                                 bool fertile) {
        expect(rows.size() == sizes.size() && gold.size() == sizes.size() && cost.size() == sizes.size() &&
                   C.size() == sizes.size(),
               "rows, gold, cost and C must have one entry per example");
        expect(F >= 0, "F must not be negative");
        std::vector<learners::MatchingExample> made;
        made.reserve(sizes.size());
        for (std::size_t e = 0; e < sizes.size(); ++e) {
            const auto [n, m] = sizes[e];
            expect(n >= 0 && m >= 0, "sizes must not be negative");
            const auto links = static_cast<std::size_t>(n * m);
            std::vector<std::size_t> blocks(fertile ? 3 : 1, links);
            blocks.push_back(static_cast<std::size_t>(n));
            blocks.push_back(static_cast<std::size_t>(m));
            expect(rows[e].size() == blocks.size(), "an example has another number of blocks");
            learners::MatchingExample& x = made.emplace_back(learners::MatchingExample{n, m, {}, {}, {}, span(C)[e]});
            expect(x.C >= 0 && std::isfinite(x.C), "C must be at least 0");
            std::size_t P = 0;
            for (std::size_t b = 0; b < blocks.size(); ++b) {
                const auto& [ptr, ids, values] = rows[e][b];
                x.blocks.push_back(checked_rows(ptr, ids, values, blocks[b], static_cast<std::size_t>(F)));
                P += blocks[b];
            }
            expect(gold[e].size() == P && cost[e].size() == P, "gold and cost must have one number per part");
            for (const double c : span(cost[e])) expect(std::isfinite(c), "a cost is not finite");
            x.gold.assign(span(gold[e]).begin(), span(gold[e]).end());
            x.cost.assign(span(cost[e]).begin(), span(cost[e]).end());
        }
        return made;
    }

    std::vector<std::vector<Rows>> rows_; // keeps the arrays that the solver looks into
    std::vector<double> gaps_;
    std::size_t F_;
    learners::MatchingFrankWolfe solver_;
};

} // namespace

void bind_matching_margin(nb::module_& m) {
    m.def(
        "best_fertile_matchings",
        [](std::int64_t n, std::int64_t targets, In<double> parts, std::int64_t k) {
            expect(n >= 0 && targets >= 0 && static_cast<std::int64_t>(parts.size()) == structures::fertile_parts(n, targets),
                   "parts must hold edge, more_source, more_target, source and target end to end");
            expect(std::ranges::none_of(span(parts), [](double s) { return std::isnan(s) || s == HUGE_VAL; }),
                   "scores must be finite or -inf");
            std::vector<std::int32_t> links;
            std::vector<double> scores;
            std::vector<std::int64_t> found;
            {
                Unlocked released;
                structures::FertilePlaces places;
                places.set(n, targets, span(parts));
                if (k == 1) {
                    links.resize(static_cast<std::size_t>(2 * n));
                    if (!structures::best_matching(places.scores(), links)) links.clear();
                    else scores.push_back(0);
                } else {
                    structures::best_matchings(places.scores(), k, links, scores);
                }
                found.reserve(links.size());
                for (std::size_t at = 0; at < links.size(); ++at) {
                    const auto row = static_cast<std::int64_t>(at) % (2 * n);
                    found.push_back(links[at] == structures::alone ? structures::alone : places.part(row, links[at]));
                }
            }
            return nb::make_tuple(given(std::move(found)), given(std::move(scores)));
        },
        nb::arg("n"), nb::arg("m"), nb::arg("parts").noconvert(), nb::arg("k"),
        "The k best: parts of links (-1: none), 2n to each answer, and scores (a zero alone for k = 1).");
    nb::class_<MatchingTrainer>(m, "MatchingFrankWolfe", "Block-coordinate Frank-Wolfe for the structured hinge on matchings.")
        .def(nb::init<std::vector<std::pair<std::int64_t, std::int64_t>>, std::vector<std::vector<Rows>>,
                      std::vector<In<double>>, std::vector<In<double>>, std::int64_t, bool, In<double>, bool>(),
             nb::arg("sizes"), nb::arg("rows"), nb::arg("gold"), nb::arg("cost"), nb::kw_only(), nb::arg("F"),
             nb::arg("fertile"), nb::arg("C").noconvert(), nb::arg("average"))
        .def("run", &MatchingTrainer::run, nb::arg("order").noconvert(), "Visit these examples.")
        .def("measured", &MatchingTrainer::measured, "Primal and dual of the weights that weights() gives.")
        .def("gaps", &MatchingTrainer::gaps, "Each example's gap at its last visit: float64 [N].")
        .def("weights", &MatchingTrainer::weights, "w, or its mean over the steps so far.");
}

} // namespace chaffinch::bindings
