#include "beam.hpp"

#include "score.hpp"

namespace chaffinch::search {

void Beam::open(const Observed& x, std::int64_t n, const float* w) {
    x_ = x;
    w_ = w;
    from_ = x.examples.sentences[n];
    T_ = x.examples.sentences[n + 1] - from_;
    if (static_cast<std::int64_t>(items_.size()) < T_) items_.resize(static_cast<std::size_t>(T_));
    history_.assign(static_cast<std::size_t>(context_.left()), context_.start());
    if (T_ == 0) return;
    scorers::score_rows(x.examples.ptr.subspan(static_cast<std::size_t>(from_), static_cast<std::size_t>(T_ + 1)), x.examples.ids, w,
               S_, machine::room(features_, T_ * S_), x.examples.values);
    if (!automaton_) return;
    const std::int64_t Q = automaton_->states();
    can_end_.assign(static_cast<std::size_t>((T_ + 1) * Q), 0);
    for (std::int64_t q = 0; q < Q; ++q) can_end_[T_ * Q + q] = (automaton_->final()[q / 64] >> (q % 64)) & 1;
    for (std::int64_t t = T_; t-- > 0;)
        for (std::int64_t q = 0; q < Q; ++q)
            for (std::int64_t y = 0; y < Y_ && !can_end_[t * Q + q]; ++y)
                if (const std::int32_t to = automaton_->next(q, y); to >= 0 && !barred(t, y))
                    can_end_[t * Q + q] = can_end_[(t + 1) * Q + to];
}

void Beam::extend(std::int64_t t, const std::int32_t* gold, bool augmented) {
    const std::int64_t left = context_.left();
    static constexpr Item root;
    const std::span<const Item> parents = t == 0 ? std::span(&root, 1) : layer(t - 1);
    candidates_.clear();
    const std::int32_t known = x_.known ? x_.known[from_ + t] : -1;
    const auto offer = [&](bool constrained) {
        for (std::size_t p = 0; p < parents.size(); ++p) {
            if (known >= 0) {
                candidates_.push_back({parents[p].score, static_cast<std::int32_t>(p), known});
                continue;
            }
            scores(t, history_.data() + (static_cast<std::int64_t>(p) + 1) * left, row_.data());
            for (std::int64_t y = 0; y < Y_; ++y) {
                if (constrained) {
                    const std::int32_t to = automaton_->next(parents[p].legal, y);
                    if (to < 0 || barred(t, y) || !can_end_[(t + 1) * automaton_->states() + to]) continue;
                }
                const double cost = augmented && y != gold[t] ? 1.0 : 0.0;
                candidates_.push_back({parents[p].score + static_cast<double>(row_[y]) + cost,
                                       static_cast<std::int32_t>(p), static_cast<std::int32_t>(y)});
            }
        }
    };
    offer(automaton_ != nullptr);
    if (candidates_.empty()) offer(false); // no prefix has a legal ending: any label may follow
    const auto kept = static_cast<std::ptrdiff_t>(std::min<std::size_t>(candidates_.size(), static_cast<std::size_t>(K_)));
    std::partial_sort(candidates_.begin(), candidates_.begin() + kept, candidates_.end(),
                      [](const Candidate& a, const Candidate& b) {
                          if (a.score != b.score) return a.score > b.score;
                          return a.parent != b.parent ? a.parent < b.parent : a.label < b.label;
                      });
    items_[t].clear();
    next_.clear();
    for (std::ptrdiff_t i = 0; i < kept; ++i) {
        const Candidate& c = candidates_[i];
        const Item& parent = parents[c.parent];
        std::int32_t legal = 0;
        if (automaton_) {
            legal = automaton_->next(parent.legal, c.label);
            if (legal < 0) legal = automaton_->after(c.label);
        }
        items_[t].push_back({c.score, c.label, c.parent, legal, parent.gold && gold && gold[t] == c.label});
        const std::int32_t* old = history_.data() + c.parent * left;
        if (left > 0) {
            next_.insert(next_.end(), old + 1, old + left);
            next_.push_back(c.label);
        }
    }
    history_.swap(next_);
}

void Beam::path(std::int64_t t, std::int64_t item, std::int32_t* labels) const {
    for (; t >= 0; --t) {
        labels[t] = items_[t][item].label;
        item = items_[t][item].parent;
    }
}

const std::int32_t* Beam::coded(const std::int32_t* labels, std::int64_t n) {
    codes_.assign(static_cast<std::size_t>(context_.left()), context_.start());
    codes_.insert(codes_.end(), labels, labels + n);
    return codes_.data() + context_.left();
}

void Beam::scores(std::int64_t t, const std::int32_t* here, float* out) {
    for (std::int64_t l = 0; l < context_.size(); ++l) rows_[l] = context_.find(l, observation(t, l), here);
    static constexpr std::int64_t alone = 0;
    Choice best;
    sum_rows({&alone, 1}, w_, rows_.data(), context_.size(), S_, features_.data() + t * S_, out, &best);
}

learners::Tally online_epoch(BeamSearch& search, learners::AnyRule& rule, learners::OnlineWeights& weights, std::span<const std::int64_t> order) {
    return std::visit([&](auto& r) { return online_epoch(search, r, weights, order); }, rule);
}

} // namespace chaffinch::search
