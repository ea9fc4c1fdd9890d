#include "assignment.hpp"

#include <algorithm>
#include <limits>
#include <queue>

namespace chaffinch::structures {

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

// Rows are assigned to columns, each row to one. The first m columns are targets, the column m + i is the null of row i.
// A link removes target[j] from the scores of lone targets, so its cost is target[j] - edge[i][j] and only sources need
// rows. If some target must be linked, the rows n .. n+m-1 are the nulls of targets: row n + j takes column j, or any
// null that is left, at no cost.
class Assignment {
  public:
    explicit Assignment(const MatchingScores& x) : x_(x), size_(x.n + x.m) {
        forced_ = std::ranges::any_of(x.target, [](double s) { return s == -infinite; });
        rows_ = forced_ ? size_ : x.n;
        u_.resize(size_), v_.resize(size_), shortest_.resize(size_);
        row_of_.resize(size_), column_of_.resize(size_), from_.resize(size_), done_.resize(size_);
    }

    // Rows below `fixed_rows` keep the answer of `fixed`; row fixed_rows may not take a column of `forbidden` (m: its
    // null). The cost of a link is -(edge), of a null -(its score).
    bool solve(const std::int32_t* fixed, std::int64_t fixed_rows, std::span<const std::int32_t> forbidden,
               std::int32_t* links) {
        fixed_ = fixed, fixed_rows_ = fixed_rows, forbidden_ = forbidden;
        std::ranges::fill(u_, 0.0), std::ranges::fill(v_, 0.0);
        std::ranges::fill(row_of_, -1), std::ranges::fill(column_of_, -1);
        for (std::int64_t row = 0; row < rows_; ++row)
            if (!augment(row)) return false;
        for (std::int64_t i = 0; i < x_.n; ++i)
            links[i] = column_of_[i] < x_.m ? static_cast<std::int32_t>(column_of_[i]) : alone;
        return true;
    }

  private:
    double cost(std::int64_t row, std::int64_t column) const {
        const bool target = column < x_.m;
        if (row >= x_.n) { // the null of a target, or a null for a null
            if (!target) return 0;
            return row - x_.n == column ? -x_.target[column] : infinite;
        }
        if (!target && column - x_.m != row) return infinite;
        if (row < fixed_rows_) {
            const std::int32_t wanted = fixed_[row];
            if (target ? wanted != column : wanted != alone) return infinite;
        } else if (row == fixed_rows_) {
            const auto here = static_cast<std::int32_t>(target ? column : x_.m);
            if (std::ranges::find(forbidden_, here) != forbidden_.end()) return infinite;
        }
        if (!target) return -x_.source[row];
        return (forced_ ? 0.0 : x_.target[column]) - x_.edge[row * x_.m + column];
    }

    // Finds a shortest path from a free row to a free column by reduced costs and flips the assignment along it.
    bool augment(std::int64_t start) {
        std::ranges::fill(shortest_, infinite);
        std::ranges::fill(done_, 0);
        std::int64_t row = start, sink = -1;
        double length = 0;
        reached_.assign(1, start);
        while (sink < 0) {
            double least = infinite;
            std::int64_t next = -1;
            for (std::int64_t c = 0; c < size_; ++c) {
                if (done_[c]) continue;
                const double w = cost(row, c);
                const double through = w == infinite ? infinite : length + w - u_[row] - v_[c];
                if (through < shortest_[c]) shortest_[c] = through, from_[c] = row;
                // Of equals a free column, which ends the path.
                if (shortest_[c] < least || (shortest_[c] == least && next >= 0 && row_of_[c] < 0 && row_of_[next] >= 0))
                    least = shortest_[c], next = c;
            }
            if (least == infinite) return false;
            length = least;
            done_[next] = 1;
            if (row_of_[next] < 0) sink = next;
            else reached_.push_back(row = row_of_[next]);
        }
        u_[start] += length;
        for (std::size_t r = 1; r < reached_.size(); ++r)
            u_[reached_[r]] += length - shortest_[column_of_[reached_[r]]];
        for (std::int64_t c = 0; c < size_; ++c)
            if (done_[c]) v_[c] -= length - shortest_[c];
        for (std::int64_t c = sink;;) {
            const std::int64_t r = from_[c];
            row_of_[c] = r;
            std::swap(column_of_[r], c);
            if (r == start) return true;
        }
    }

    const MatchingScores& x_;
    std::int64_t size_, rows_;
    bool forced_;
    const std::int32_t* fixed_ = nullptr;
    std::int64_t fixed_rows_ = 0;
    std::span<const std::int32_t> forbidden_;
    std::vector<double> u_, v_, shortest_;
    std::vector<std::int64_t> row_of_, column_of_, from_, reached_;
    std::vector<char> done_;
};

double score_of(const MatchingScores& x, const std::int32_t* links) {
    double total = 0;
    std::vector<char> linked(x.m, 0);
    for (std::int64_t i = 0; i < x.n; ++i) {
        total += links[i] == alone ? x.source[i] : x.edge[i * x.m + links[i]];
        if (links[i] != alone) linked[links[i]] = 1;
    }
    for (std::int64_t j = 0; j < x.m; ++j)
        if (!linked[j]) total += x.target[j];
    return total;
}

// The best answer of a set of matchings: those that agree with it on the rows below `branch` and do not have a forbidden
// column in the row `branch`.
struct Subset {
    double score;
    std::int64_t order; // of discovery: the earlier of equals comes first
    std::vector<std::int32_t> links;
    std::int64_t branch;
    std::vector<std::int32_t> forbidden;
    bool operator<(const Subset& o) const { return score != o.score ? score < o.score : order > o.order; }
};

} // namespace

bool best_matching(const MatchingScores& x, std::span<std::int32_t> links) {
    return Assignment(x).solve(nullptr, 0, {}, links.data());
}

std::int64_t best_matchings(const MatchingScores& x, std::int64_t k, std::vector<std::int32_t>& links,
                            std::vector<double>& scores) {
    Assignment assignment(x);
    std::priority_queue<Subset> open;
    std::int64_t order = 0;
    std::vector<std::int32_t> found(x.n);
    if (assignment.solve(nullptr, 0, {}, found.data())) open.push({score_of(x, found.data()), order++, found, 0, {}});
    std::int64_t count = 0;
    while (count < k && !open.empty()) {
        const Subset best = open.top();
        open.pop();
        ++count;
        links.insert(links.end(), best.links.begin(), best.links.end());
        scores.push_back(best.score);
        for (std::int64_t row = best.branch; count < k && row < x.n; ++row) {
            std::vector<std::int32_t> forbidden;
            if (row == best.branch) forbidden = best.forbidden;
            forbidden.push_back(best.links[row] == alone ? static_cast<std::int32_t>(x.m) : best.links[row]);
            if (!assignment.solve(best.links.data(), row, forbidden, found.data())) continue;
            open.push({score_of(x, found.data()), order++, found, row, std::move(forbidden)});
        }
    }
    return count;
}

} // namespace chaffinch::structures
