// Shared by the Frank-Wolfe learners of the structured margin, for any structure.
#pragma once

namespace chaffinch::learners {

struct MarginObjective {
    double primal = 0, dual = 0;
};

// The sum of k over the steps since <= k < now: the mean of w weighs step k by k.
inline double steps_weight(double since, double now) { return (now * (now - 1) - since * (since - 1)) / 2; }

} // namespace chaffinch::learners
