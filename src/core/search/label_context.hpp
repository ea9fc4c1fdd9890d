// Features of decided labels: maps the context that a label template sees to its row of weights.
//
//   a template l reads labels at offsets o_1 .. o_k and observes o_l(t) of the input (a stem, a tag, or nothing)
//   key_l(t) = o_l(t) B^k + sum_j c[t + o_j] B^(j-1),    B = Y + 3
//
// c is a label, or one of three symbols: before the start, behind the end, not yet decided. Rows are numbered as they
// are made, behind the F rows of features; row F is zero for ever and stands for every context that has none.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace chaffinch::search {

// Maps keys below a known bound to rows. A small span is a plain array, a large one open addressing, at most 60 % full.
class ContextIndex {
  public:
    ContextIndex(std::uint64_t span, std::int32_t absent) : span_(span), absent_(absent), plain_(span <= most_plain) {
        if (plain_)
            rows_.assign(span, absent);
        else
            slots_.assign(1024, Slot{no_key, absent});
    }

    std::uint64_t span() const { return span_; }
    const std::int32_t* plain() const { return plain_ ? rows_.data() : nullptr; } // [span] rows by key

    std::int32_t find(std::uint64_t key) const {
        if (plain_) return rows_[key];
        const std::size_t mask = slots_.size() - 1;
        for (std::size_t i = place(key) & mask;; i = (i + 1) & mask)
            if (slots_[i].key == key || slots_[i].key == no_key) return slots_[i].row;
    }

    void set(std::uint64_t key, std::int32_t row) {
        keys_.emplace_back(key, row);
        if (plain_) {
            rows_[key] = row;
            return;
        }
        if (5 * keys_.size() > 3 * slots_.size()) {
            slots_.assign(2 * slots_.size(), Slot{no_key, absent_});
            for (const auto& [k, r] : keys_) put(k, r);
        } else {
            put(key, row);
        }
    }

    // Every key that has a row, in the order they were set.
    std::span<const std::pair<std::uint64_t, std::int32_t>> keys() const { return keys_; }

  private:
    static constexpr std::uint64_t most_plain = std::uint64_t{1} << 21;
    static constexpr std::uint64_t no_key = std::numeric_limits<std::uint64_t>::max();

    struct Slot {
        std::uint64_t key;
        std::int32_t row;
    };

    static std::size_t place(std::uint64_t key) {
        const std::uint64_t h = key * 0x9e3779b97f4a7c15ULL;
        return static_cast<std::size_t>(h ^ (h >> 32));
    }

    void put(std::uint64_t key, std::int32_t row) {
        const std::size_t mask = slots_.size() - 1;
        std::size_t i = place(key) & mask;
        while (slots_[i].key != no_key) i = (i + 1) & mask;
        slots_[i] = {key, row};
    }

    std::uint64_t span_;
    std::int32_t absent_;
    bool plain_;
    std::vector<std::int32_t> rows_;
    std::vector<Slot> slots_;
    std::vector<std::pair<std::uint64_t, std::int32_t>> keys_;
};

class LabelContext {
  public:
    struct Template {
        std::vector<std::int32_t> offsets; // rising, 0 excluded
        std::int64_t observations = 1;     // number of distinct observations in training
        std::int32_t column = -1;          // their column; templates may share one. -1: it observes labels only
    };

    LabelContext(std::int64_t F, std::int64_t Y, std::vector<Template> templates)
        : Y_(Y), zero_(static_cast<std::int32_t>(F)), rows_(F + 1), templates_(std::move(templates)) {
        for (std::size_t l = 0; l < templates_.size(); ++l) {
            std::uint64_t power = 1;
            for (const std::int32_t o : templates_[l].offsets) {
                left_ = std::max<std::int64_t>(left_, -o);
                right_ = std::max<std::int64_t>(right_, o);
                const auto at = std::ranges::find(by_offset_, o, &Readers::offset);
                Readers& readers = at == by_offset_.end() ? by_offset_.emplace_back(o, std::vector<Reader>()) : *at;
                readers.templates.push_back({.number = static_cast<std::int32_t>(l), .stride = power});
                if (templates_[l].column >= 0) observing_readers_.push_back({o, static_cast<std::int32_t>(l), power});
                reads_.push_back({o, power});
                power *= base();
            }
            powers_.push_back(power);
            if (templates_[l].column >= 0) observing_.push_back(static_cast<std::int32_t>(l));
            in_use_.emplace_back(static_cast<std::size_t>(templates_[l].observations), std::uint8_t{0});
            columns_ = std::max<std::int64_t>(columns_, templates_[l].column + 1);
            reads_begin_.push_back(reads_.size());
            index_.emplace_back(power * static_cast<std::uint64_t>(templates_[l].observations), zero_);
        }
        for (const ContextIndex& index : index_) plain_.push_back(index.plain());
        for (Readers& readers : by_offset_)
            for (Reader& reader : readers.templates) reader.rows = plain_[reader.number];
    }

    // Does every key fit into 64 bits?
    static bool fits(std::int64_t Y, const Template& t) {
        long double span = static_cast<long double>(t.observations);
        for (std::size_t j = 0; j < t.offsets.size(); ++j) span *= static_cast<long double>(Y + 3);
        return span < 9e18L;
    }

    LabelContext(const LabelContext&) = delete; // plain_ points into index_
    LabelContext& operator=(const LabelContext&) = delete;

    std::uint64_t base() const { return static_cast<std::uint64_t>(Y_ + 3); }
    std::int32_t start() const { return static_cast<std::int32_t>(Y_); }
    std::int32_t end() const { return static_cast<std::int32_t>(Y_ + 1); }
    std::int32_t undecided() const { return static_cast<std::int32_t>(Y_ + 2); }

    std::int64_t labels() const { return Y_; }
    std::int64_t left() const { return left_; }   // how far templates look to the left
    std::int64_t right() const { return right_; } // and to the right
    std::int64_t size() const { return static_cast<std::int64_t>(templates_.size()); }
    std::int64_t rows() const { return rows_; } // F + 1 + contexts
    std::int64_t columns() const { return columns_; } // of observations
    std::int32_t zero() const { return zero_; }

    // What template l observes, of the observations of one token. [columns]
    std::int32_t observed(std::int64_t l, const std::int32_t* observations) const {
        return templates_[l].column < 0 ? 0 : observations[templates_[l].column];
    }

    const Template& at(std::int64_t l) const { return templates_[l]; }
    const ContextIndex& index(std::int64_t l) const { return index_[l]; }

    // For each offset that occurs, the templates that read there, and by how much their keys grow with the label.
    struct Reader {
        std::int32_t number;
        std::uint64_t stride;
        const std::int32_t* rows = nullptr; // by key where they are a plain array
    };
    struct Readers {
        std::int32_t offset;
        std::vector<Reader> templates;
    };
    std::span<const Readers> by_offset() const { return by_offset_; }

    // Templates that observe something; their rows are many and lie far apart.
    struct ObservingReader {
        std::int32_t offset, number;
        std::uint64_t stride;
    };
    std::span<const ObservingReader> observing_readers() const { return observing_readers_; }

    // The key of a template whose observation is unknown.
    static constexpr std::uint64_t blind = std::uint64_t{1} << 63;

    // here: the codes c, pointing at position t; observation >= 0.
    std::uint64_t key(std::int64_t l, std::int32_t observation, const std::int32_t* here) const {
        std::uint64_t k = static_cast<std::uint64_t>(observation) * powers_[l];
        for (std::size_t i = reads_begin_[l]; i < reads_begin_[l + 1]; ++i)
            k += static_cast<std::uint64_t>(here[reads_[i].offset]) * reads_[i].stride;
        return k;
    }

    std::int32_t find(std::int64_t l, std::uint64_t k) const {
        const std::int32_t* rows = plain_[l];
        return rows ? rows[k] : index_[l].find(k);
    }

    std::int32_t find(std::int64_t l, std::int32_t observation, const std::int32_t* here) const {
        return observation < 0 ? zero_ : index_[l].find(key(l, observation, here));
    }

    // The templates that observe something; the others see labels alone.
    std::span<const std::int32_t> observing() const { return observing_; }

    // The key that begins with `labels`, or blind: most observations are rare, and none of their contexts has a row.
    std::uint64_t key_in_use(std::int64_t l, std::int32_t observation, std::uint64_t labels) const {
        if (observation < 0 || !in_use_[l][observation]) return blind;
        return static_cast<std::uint64_t>(observation) * powers_[l] + labels;
    }

    // The row of such a key, until a row is made.
    std::int32_t row(std::int64_t l, std::uint64_t k) const { return k == blind ? zero_ : find(l, k); }

    // Prefetches the key's row.
    void prefetch(std::int64_t l, std::uint64_t k) const {
        if (k != blind && plain_[l]) __builtin_prefetch(plain_[l] + k);
    }

    // The row, created if there is none; zero() if the observation is unknown.
    std::int32_t made(std::int64_t l, std::int32_t observation, const std::int32_t* here) {
        if (observation < 0) return zero_;
        const std::uint64_t k = key(l, observation, here);
        const std::int32_t row = index_[l].find(k);
        return row != zero_ ? row : set(l, k);
    }

    std::int32_t set(std::int64_t l, std::uint64_t k) {
        const auto row = static_cast<std::int32_t>(rows_++);
        index_[l].set(k, row);
        in_use_[l][k / powers_[l]] = 1;
        return row;
    }

  private:
    std::int64_t Y_;
    std::int32_t zero_;
    std::int64_t rows_;
    std::vector<Template> templates_;
    struct Read {
        std::int32_t offset;
        std::uint64_t stride;
    };

    std::vector<std::uint64_t> powers_;         // B^k
    std::vector<Read> reads_;                   // of all templates
    std::vector<std::size_t> reads_begin_{0};   // [L+1]
    std::vector<std::int32_t> observing_;     // templates with a column
    std::vector<const std::int32_t*> plain_; // [L] rows by key where they are a plain array, else null
    std::vector<ContextIndex> index_;
    std::vector<std::vector<std::uint8_t>> in_use_; // [L][observations] does any context with it have a row?
    std::vector<Readers> by_offset_;
    std::vector<ObservingReader> observing_readers_;
    std::int64_t left_ = 0, right_ = 0, columns_ = 0;
};

} // namespace chaffinch::search
