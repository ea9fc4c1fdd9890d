#include "word_classes.hpp"

#include "stop.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace chaffinch::text {

namespace {

constexpr std::int64_t tabled = 1 << 16;

struct Pair {
    std::int32_t word, other;
    auto operator<=>(const Pair &) const = default;
};

} // namespace

WordClasses::WordClasses(std::span<const std::int64_t> ptr, std::span<const std::int32_t> ids,
                         std::int32_t types, std::int32_t classes)
    : types_(types), classes_n_(classes), wide_(static_cast<std::size_t>(classes) + 1), f_(tabled, 0.0),
      class_(types, -1), twice_(types, 0), rows_(wide_ * wide_, 0), columns_(wide_ * wide_, 0),
      left_(wide_, 0), right_(wide_, 0), next_(wide_, 0), previous_(wide_, 0), gain_(classes) {
    for (std::int64_t n = 2; n < tabled; ++n)
        f_[n] = static_cast<double>(n) * std::log(static_cast<double>(n));

    std::vector<Pair> pairs;
    pairs.reserve(ids.size() + ptr.size());
    for (std::size_t s = 0; s + 1 < ptr.size(); ++s) {
        std::int32_t last = types;
        for (std::int64_t t = ptr[s]; t < ptr[s + 1]; ++t) {
            if (ids[t] < 0) continue;
            pairs.push_back({last, ids[t]});
            last = ids[t];
        }
        if (last != types) pairs.push_back({last, types});
    }
    const auto count = [&](bool forward, std::vector<std::int64_t> &bounds, std::vector<Neighbour> &out) {
        if (!forward)
            for (Pair &p : pairs) std::swap(p.word, p.other);
        std::ranges::sort(pairs);
        bounds.assign(1, 0);
        std::size_t i = 0;
        for (std::int32_t w = 0; w < types; ++w) {
            while (i < pairs.size() && pairs[i].word == w) {
                std::size_t j = i;
                while (j < pairs.size() && pairs[j] == pairs[i]) ++j;
                const auto n = static_cast<std::int32_t>(j - i);
                if (pairs[i].other == w)
                    twice_[w] = n;
                else
                    out.push_back({pairs[i].other, n});
                i = j;
            }
            bounds.push_back(static_cast<std::int64_t>(out.size()));
        }
    };
    count(true, after_ptr_, after_);
    count(false, before_ptr_, before_);
}

double WordClasses::f(std::int64_t n) const {
    if (n < tabled) return f_[n];
    return static_cast<double>(n) * std::log(static_cast<double>(n));
}

std::int64_t WordClasses::improve() {
    std::int64_t moved = 0;
    for (std::int32_t word = 0; word < types_; ++word) {
        machine::check_stop();
        const std::int32_t before = class_[word];
        gather(word);
        if (before >= 0) change(before, -1);
        const std::int32_t best = before < 0 && word < classes_n_ ? word : best_class();
        change(best, +1);
        class_[word] = best;
        moved += best != before;
    }
    return moved;
}

// next_[d], previous_[c]: how often the word occurs before and after each class.
void WordClasses::gather(std::int32_t word) {
    for (const std::int32_t c : next_in_) next_[c] = 0;
    for (const std::int32_t c : previous_in_) previous_[c] = 0;
    next_in_.clear();
    previous_in_.clear();
    const auto collect = [&](std::span<const Neighbour> neighbours, std::vector<std::int64_t> &counts,
                             std::vector<std::int32_t> &in) {
        for (const Neighbour &n : neighbours) {
            const std::int32_t c = n.word == types_ ? classes_n_ : class_[n.word];
            if (c < 0) continue;
            if (counts[c] == 0) in.push_back(c);
            counts[c] += n.count;
        }
    };
    collect(std::span(after_).subspan(after_ptr_[word], after_ptr_[word + 1] - after_ptr_[word]), next_,
            next_in_);
    collect(std::span(before_).subspan(before_ptr_[word], before_ptr_[word + 1] - before_ptr_[word]),
            previous_, previous_in_);
    self_ = twice_[word];
}

// The class b that increases L most if the word, which is in no class, joins it:
//
//     gain(b) = sum over d of f(N(b, d) + next(d)) - f(N(b, d))  +  the same over c before it
//             - (f(Nl(b) + l) - f(Nl(b))) - (f(Nr(b) + r) - f(Nr(b)))
//
// where N(b, b) gets next(b), previous(b) and the word's pairs with itself at once.
std::int32_t WordClasses::best_class() {
    std::ranges::fill(gain_, 0.0);
    const auto add = [&](std::span<const std::int64_t> line, std::int64_t n) {
        for (std::int32_t b = 0; b < classes_n_; ++b) gain_[b] += f(line[b] + n) - f(line[b]);
    };
    std::int64_t l = self_, r = self_;
    for (const std::int32_t d : next_in_) {
        add(std::span(columns_).subspan(d * wide_, wide_), next_[d]);
        l += next_[d];
    }
    for (const std::int32_t c : previous_in_) {
        add(std::span(rows_).subspan(c * wide_, wide_), previous_[c]);
        r += previous_[c];
    }
    std::int32_t best = 0;
    for (std::int32_t b = 0; b < classes_n_; ++b) {
        const std::int64_t own = at(b, b);
        gain_[b] -= f(own + next_[b]) - f(own) + f(own + previous_[b]) - f(own);
        gain_[b] += f(own + next_[b] + previous_[b] + self_) - f(own);
        gain_[b] -= f(left_[b] + l) - f(left_[b]) + f(right_[b] + r) - f(right_[b]);
        if (gain_[b] > gain_[best]) best = b;
    }
    return best;
}

// Adds the gathered word's pairs to class c (sign +1) or takes them out.
void WordClasses::change(std::int32_t c, std::int32_t sign) {
    const auto add = [&](std::int32_t a, std::int32_t b, std::int64_t n) {
        at(a, b) += sign * n;
        columns_[static_cast<std::size_t>(b) * wide_ + a] += sign * n;
        left_[a] += sign * n;
        right_[b] += sign * n;
    };
    for (const std::int32_t d : next_in_) add(c, d, next_[d]);
    for (const std::int32_t d : previous_in_) add(d, c, previous_[d]);
    if (self_ > 0) add(c, c, self_);
}

double WordClasses::score() const {
    double out = 0.0;
    for (const std::int64_t n : rows_) out += f(n);
    for (std::size_t c = 0; c < wide_; ++c) out -= f(left_[c]) + f(right_[c]);
    return out;
}

// Joins classes two by two, always the pair whose union costs L least. cost(i, j), what joining i and j adds
// to L (never more than 0), is kept for all pairs: after a join only the terms with the joined class change,
// so that each join takes O(C^2).
class WordClasses::Joiner {
  public:
    explicit Joiner(const WordClasses &from)
        : from_(from), C_(static_cast<std::size_t>(from.classes_n_)), wide_(from.wide_), N_(from.rows_),
          left_(from.left_), right_(from.right_), alive_(wide_, true), cost_(C_ * C_, 0.0) {
        for (std::size_t i = 0; i < C_; ++i) {
            machine::check_stop();
            for (std::size_t j = i + 1; j < C_; ++j) cost_[i * C_ + j] = whole(i, j);
        }
    }

    // The two classes a < b that were joined: a now stands for both.
    std::pair<std::size_t, std::size_t> join() {
        machine::check_stop();
        std::size_t a = C_, b = C_;
        each_pair(C_, C_, [&](std::size_t i, std::size_t j) {
            if (a == C_ || cost_[i * C_ + j] > cost_[a * C_ + b]) a = i, b = j;
        });
        each_pair(a, b,
                  [&](std::size_t i, std::size_t j) { cost_[i * C_ + j] -= with(i, j, a) + with(i, j, b); });
        alive_[b] = false;
        for (std::size_t k = 0; k < wide_; ++k) N_[a * wide_ + k] += N_[b * wide_ + k];
        for (std::size_t k = 0; k < wide_; ++k) N_[k * wide_ + a] += N_[k * wide_ + b];
        for (std::size_t k = 0; k < wide_; ++k) N_[b * wide_ + k] = N_[k * wide_ + b] = 0;
        left_[a] += left_[b];
        right_[a] += right_[b];
        each_pair(a, b, [&](std::size_t i, std::size_t j) { cost_[i * C_ + j] += with(i, j, a); });
        for (std::size_t k = 0; k < C_; ++k)
            if (alive_[k] && k != a)
                cost_[std::min(a, k) * C_ + std::max(a, k)] = whole(std::min(a, k), std::max(a, k));
        return {a, b};
    }

  private:
    // Pairs i < j of classes that are still there, a and b left out.
    template <class Visit> void each_pair(std::size_t a, std::size_t b, Visit visit) {
        for (std::size_t i = 0; i < C_; ++i) {
            if (!alive_[i] || i == a || i == b) continue;
            for (std::size_t j = i + 1; j < C_; ++j)
                if (alive_[j] && j != a && j != b) visit(i, j);
        }
    }

    std::int64_t n(std::size_t a, std::size_t b) const { return N_[a * wide_ + b]; }
    double f(std::int64_t x) const { return from_.f(x); }

    // The part of cost(i, j) that comes from their neighbour k.
    double with(std::size_t i, std::size_t j, std::size_t k) const {
        return f(n(i, k) + n(j, k)) - f(n(i, k)) - f(n(j, k)) + f(n(k, i) + n(k, j)) - f(n(k, i)) -
               f(n(k, j));
    }

    double whole(std::size_t i, std::size_t j) const {
        double out =
            f(n(i, i) + n(i, j) + n(j, i) + n(j, j)) - f(n(i, i)) - f(n(i, j)) - f(n(j, i)) - f(n(j, j));
        out -= f(left_[i] + left_[j]) - f(left_[i]) - f(left_[j]);
        out -= f(right_[i] + right_[j]) - f(right_[i]) - f(right_[j]);
        for (std::size_t k = 0; k < wide_; ++k)
            if (alive_[k] && k != i && k != j) out += with(i, j, k);
        return out;
    }

    const WordClasses &from_;
    std::size_t C_, wide_;
    std::vector<std::int64_t> N_, left_, right_;
    std::vector<bool> alive_;  // [C+1], the boundary always
    std::vector<double> cost_; // [C][C], i < j
};

void WordClasses::shrink(std::int32_t classes) {
    if (classes >= classes_n_) return;
    std::vector<std::int32_t> stands_for(classes_n_);
    std::iota(stands_for.begin(), stands_for.end(), 0);
    Joiner joiner(*this);
    for (std::int32_t left_over = classes_n_; left_over > classes; --left_over) {
        const auto [a, b] = joiner.join();
        for (std::int32_t &c : stands_for)
            if (c == static_cast<std::int32_t>(b)) c = static_cast<std::int32_t>(a);
    }
    std::vector<std::int32_t> number(classes_n_, -1);
    std::int32_t next = 0;
    for (std::int32_t c = 0; c < classes_n_; ++c)
        if (stands_for[c] == c) number[c] = next++;
    for (std::int32_t &c : class_)
        if (c >= 0) c = number[stands_for[c]];
    recount(classes);
}

// All counts anew, for the classes that words are in.
void WordClasses::recount(std::int32_t classes) {
    classes_n_ = classes;
    wide_ = static_cast<std::size_t>(classes) + 1;
    rows_.assign(wide_ * wide_, 0);
    columns_.assign(wide_ * wide_, 0);
    left_.assign(wide_, 0);
    right_.assign(wide_, 0);
    next_.assign(wide_, 0);
    previous_.assign(wide_, 0);
    next_in_.clear();
    previous_in_.clear();
    gain_.assign(classes_n_, 0.0);
    std::vector<std::int32_t> final_class(types_, -1);
    final_class.swap(class_);
    for (std::int32_t word = 0; word < types_;
         ++word) { // each pair is counted when its second word is put in
        gather(word);
        class_[word] = final_class[word];
        if (class_[word] >= 0) change(class_[word], +1);
    }
}

std::vector<std::string> WordClasses::paths() const {
    const auto C = static_cast<std::size_t>(classes_n_);
    std::vector<std::vector<std::size_t>> members(C); // classes in each node of the tree
    for (std::size_t c = 0; c < C; ++c) members[c] = {c};
    std::vector<std::string> path(C);
    Joiner joiner(*this);
    for (std::size_t left_over = C; left_over > 1; --left_over) {
        const auto [a, b] = joiner.join();
        for (const std::size_t c : members[a]) path[c] += '0'; // from the leaf up; turned round below
        for (const std::size_t c : members[b]) path[c] += '1';
        members[a].insert(members[a].end(), members[b].begin(), members[b].end());
        members[b] = {};
    }
    for (std::string &p : path) {
        std::ranges::reverse(p);
        if (p.empty()) p.push_back('0');
    }
    return path;
}

} // namespace chaffinch::text
