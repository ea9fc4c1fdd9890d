#include "span_scores.hpp"

#include <algorithm>
#include <utility>

namespace chaffinch::evaluate {

namespace {

// Reads one label sequence; at most one span closes and one starts at each step.
class SpanReader {
  public:
    explicit SpanReader(const SpanRules& rules)
        : rules_(rules), before_{outside_prefix, rules.first_type}, open_(rules.loose) {}

    void step(Tag here, std::int64_t position) {
        const std::size_t pair = before_.prefix * tag_prefixes + here.prefix;
        const std::uint8_t cell = rules_.cells[2 * pair + (before_.type == here.type ? 1 : 0)];
        closed = started = false;
        type = before_.type;
        before_ = here;
        if (open_ && (cell & SpanRules::inside) != 0) return;
        closed = open_ && (cell & SpanRules::ends) != 0;
        started = (cell & SpanRules::starts) != 0;
        closed_begin = begin_;
        if (started) begin_ = position;
        open_ = started || rules_.loose;
    }

    bool closed = false;           // a span ended just before this tag ...
    std::int64_t closed_begin = 0; // ... which began here ...
    std::int32_t type = 0;         // ... and had this type (that of the tag before)
    bool started = false;          // a span starts at this tag

  private:
    const SpanRules& rules_;
    Tag before_;
    std::int64_t begin_ = 0;
    // A loose reader is always open: it may end a span that never started; that span begins where the last one began.
    bool open_;
};

// Adds to one row of totals.
class Totals {
  public:
    explicit Totals(std::size_t K) : sums(K) {}
    void add(std::int32_t column, std::int32_t value = 1) { sums[column] += value; }
    void end_sentence() {}

    std::vector<std::int64_t> sums;
};

// Adds to one sparse row per sentence.
class CountsBySentence {
  public:
    explicit CountsBySentence(std::size_t K) : row_(K) {}
    void add(std::int32_t column, std::int32_t value = 1) {
        if (value == 0) return;
        if (row_[column] == 0) touched_.push_back(column);
        row_[column] += value;
    }
    void end_sentence() {
        std::ranges::sort(touched_);
        for (const std::int32_t column : touched_) {
            counts.columns.push_back(column);
            counts.values.push_back(row_[column]);
            row_[column] = 0;
        }
        touched_.clear();
        counts.ptr.push_back(static_cast<std::int64_t>(counts.columns.size()));
    }

    SentenceCounts counts;

  private:
    std::vector<std::int32_t> row_;
    std::vector<std::int32_t> touched_;
};

template <class Counts> class SpanMatcher {
  public:
    SpanMatcher(const SpanRules& rules, Counts& counts)
        : rules_(rules), counts_(counts), gold_(rules), predicted_(rules) {}

    void step(Tag y, Tag y_hat, std::int64_t position) {
        gold_.step(y, position);
        predicted_.step(y_hat, position);
        const bool both = gold_.closed && predicted_.closed;
        const bool same_type = gold_.type == predicted_.type;
        const bool same_bounds = both && gold_.closed_begin == predicted_.closed_begin;
        if (gold_.closed) counts_.add(4);
        if (predicted_.closed) counts_.add(5);
        if (same_bounds) counts_.add(6);
        if (rules_.streamed) {
            if (correct_so_far_ && both && same_type) counts_.add(column(gold_.type, 2));
            if (both || gold_.closed != predicted_.closed || y.type != y_hat.type) correct_so_far_ = false;
            if (gold_.started) counts_.add(column(y.type, 0));
            if (predicted_.started) counts_.add(column(y_hat.type, 1));
            if (gold_.started && predicted_.started && y.type == y_hat.type) correct_so_far_ = true;
            last_type_ = y.type;
        } else {
            if (gold_.closed) counts_.add(column(gold_.type, 0));
            if (predicted_.closed) counts_.add(column(predicted_.type, 1));
            if (same_bounds && same_type) counts_.add(column(gold_.type, 2));
        }
    }

    void finish() {
        if (rules_.streamed && correct_so_far_) counts_.add(column(last_type_, 2));
    }

  private:
    static std::int32_t column(std::int32_t type, std::int32_t which) { return typed_columns_from + 3 * type + which; }

    const SpanRules& rules_;
    Counts& counts_;
    SpanReader gold_, predicted_;
    bool correct_so_far_ = false;
    std::int32_t last_type_ = 0;
};

template <class Counts>
void count(std::span<const std::int32_t> y, std::span<const std::int32_t> y_hat, std::span<const std::int64_t> ptr,
           std::span<const Tag> tags, const SpanRules& rules, Counts& counts) {
    SpanMatcher<Counts> matcher(rules, counts);
    const Tag boundary{outside_prefix, rules.boundary_type};
    for (std::size_t n = 0; n + 1 < ptr.size(); ++n) {
        std::int32_t right = 0;
        for (std::int64_t t = ptr[n]; t < ptr[n + 1]; ++t) right += y[t] == y_hat[t] ? 1 : 0;
        const auto T = static_cast<std::int32_t>(ptr[n + 1] - ptr[n]);
        counts.add(0, T);
        counts.add(1, right);
        counts.add(2);
        counts.add(3, right == T ? 1 : 0);
        if (!tags.empty()) {
            // Leaves one position for the boundary after each sentence, so that no two sentences share a position.
            const auto shift = static_cast<std::int64_t>(n);
            for (std::int64_t t = ptr[n]; t < ptr[n + 1]; ++t) matcher.step(tags[y[t]], tags[y_hat[t]], t + shift);
            matcher.step(boundary, boundary, ptr[n + 1] + shift);
            if (n + 2 == ptr.size()) matcher.finish();
        }
        counts.end_sentence();
    }
}

} // namespace

SentenceCounts tag_counts(std::span<const std::int32_t> y, std::span<const std::int32_t> y_hat,
                          std::span<const std::int64_t> ptr, std::span<const Tag> tags, std::int32_t types,
                          const SpanRules& rules) {
    CountsBySentence rows(typed_columns_from + 3 * static_cast<std::size_t>(types));
    count(y, y_hat, ptr, tags, rules, rows);
    return std::move(rows.counts);
}

std::vector<std::int64_t> tag_totals(std::span<const std::int32_t> y, std::span<const std::int32_t> y_hat,
                                     std::span<const std::int64_t> ptr, std::span<const Tag> tags,
                                     std::int32_t types, const SpanRules& rules) {
    Totals totals(typed_columns_from + 3 * static_cast<std::size_t>(types));
    count(y, y_hat, ptr, tags, rules, totals);
    return std::move(totals.sums);
}

SpanTable spans_of(std::span<const std::int32_t> y, std::span<const std::int64_t> ptr, std::span<const Tag> tags,
                   const SpanRules& rules) {
    SpanTable out;
    SpanReader reader(rules);
    const Tag boundary{outside_prefix, rules.boundary_type};
    for (std::size_t n = 0; n + 1 < ptr.size(); ++n)
        for (std::int64_t t = ptr[n]; t <= ptr[n + 1]; ++t) {
            reader.step(t < ptr[n + 1] ? tags[y[t]] : boundary, t);
            if (!reader.closed) continue;
            out.sentence.push_back(static_cast<std::int32_t>(n));
            out.begin.push_back(std::max(reader.closed_begin, ptr[n]));
            out.end.push_back(t);
            out.type.push_back(reader.type);
        }
    return out;
}

} // namespace chaffinch::evaluate
