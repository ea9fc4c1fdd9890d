#include "extraction.hpp"

#include <algorithm>
#include <array>
#include <new>

namespace chaffinch::features {

namespace {

constexpr std::size_t batch = 128; // tokens whose keys are in flight together
using Keys = std::array<std::uint64_t, batch>;

// keys[i] = sum over the digits of values[column][cell + offset] * stride, plus the carry; no_key if any is
// -1.
void make_keys(const Stage &stage, const Frame &frame, std::size_t first, std::size_t n,
               const std::int32_t *carry, Keys &keys) {
    const std::int32_t *cell = frame.cell.data() + first;
    if (carry != nullptr) {
        for (std::size_t i = 0; i < n; ++i)
            keys[i] =
                carry[i] < 0 ? KeyTable::no_key : static_cast<std::uint64_t>(carry[i]) * stage.carry_stride;
    } else {
        std::fill_n(keys.begin(), n, 0);
    }
    for (const Stage::Digit &digit : stage.digits) {
        const std::int32_t *value = frame.column(digit.column).data() + digit.offset;
        for (std::size_t i = 0; i < n; ++i) {
            const std::int32_t v = value[cell[i]];
            const bool missing = (v < 0) | (keys[i] == KeyTable::no_key);
            const std::uint64_t key =
                keys[i] + static_cast<std::uint64_t>(static_cast<std::uint32_t>(v)) * digit.stride;
            keys[i] = missing ? KeyTable::no_key : key;
        }
    }
}

// The keys of one offset of a window: a value inside the sentence that no earlier offset had.
void make_window_keys(const TemplateTables &t, std::size_t slot, const Frame &frame, std::size_t first,
                      std::size_t n, Keys &keys) {
    const std::int32_t *value = frame.column(t.atoms[0].column).data();
    for (std::size_t i = 0; i < n; ++i) {
        const std::int32_t *here = value + frame.cell[first + i];
        const std::int32_t v = here[t.atoms[slot].offset];
        bool fresh = v >= 0 && v < t.n_values;
        for (std::size_t before = 0; fresh && before < slot; ++before)
            fresh = here[t.atoms[before].offset] != v;
        keys[i] = fresh ? static_cast<std::uint64_t>(v) : KeyTable::no_key;
    }
}

void look_up(const KeyTable &table, const Keys &keys, std::size_t n, std::int32_t *out) {
    if (table.dense()) {
        for (std::size_t i = 0; i < n; ++i) out[i] = table.find_dense(keys[i]);
        return;
    }
    table.find_hashed(keys.data(), n, out);
}

void look_up(KeyTable &table, const Keys &keys, std::size_t n, std::int32_t *out) {
    if (table.dense()) {
        for (std::size_t i = 0; i < n; ++i) out[i] = table.count_dense(keys[i]);
        return;
    }
    for (std::size_t i = 0; i < n; ++i) table.prefetch(keys[i]);
    for (std::size_t i = 0; i < n; ++i) out[i] = table.count_hashed(keys[i]);
}

inline std::int32_t look_up_dense(const KeyTable &table, std::uint64_t key) { return table.find_dense(key); }
inline std::int32_t look_up_dense(KeyTable &table, std::uint64_t key) { return table.count_dense(key); }

// A template of one atom: values are keys, and -1 is out of range.
template <class Table>
void look_up_values(Table &table, const Stage::Digit &digit, const Frame &frame, std::span<std::int32_t> out) {
    const std::int32_t *value = frame.column(digit.column).data() + digit.offset;
    for (std::size_t t = 0; t < frame.size(); ++t)
        out[t] = look_up_dense(table, static_cast<std::uint64_t>(std::int64_t{value[frame.cell[t]]}));
}

// Self is TemplateTables, const (look up) or not (count).
template <class Self> void extract(Self &t, const Frame &frame, std::span<std::int32_t> out) {
    if (!t.window && t.stages.size() == 1 && t.stages[0].digits.size() == 1 && t.tables[0].dense())
        return look_up_values(t.tables[0], t.stages[0].digits[0], frame, out);
    Keys keys;
    const std::size_t T = frame.size();
    for (std::size_t first = 0; first < T; first += batch) {
        const std::size_t n = std::min(batch, T - first);
        if (t.window) {
            for (std::size_t slot = 0; slot < t.atoms.size(); ++slot) {
                make_window_keys(t, slot, frame, first, n, keys);
                look_up(t.tables.back(), keys, n, out.data() + slot * T + first);
            }
            continue;
        }
        std::int32_t *ids = out.data() + first;
        for (std::size_t s = 0; s < t.stages.size(); ++s) {
            make_keys(t.stages[s], frame, first, n, s == 0 ? nullptr : ids, keys);
            look_up(t.tables[s], keys, n, ids);
        }
    }
}

} // namespace

void lay_out(std::span<const std::int64_t> ptr, std::size_t columns, const Margins &margins, Frame &frame) {
    const std::size_t N = ptr.size() - 1;
    const std::int64_t base = ptr[0];
    frame.bounds.resize(N + 1);
    frame.cell.resize(static_cast<std::size_t>(ptr[N] - base));
    std::int32_t at = 0;
    for (std::size_t n = 0; n < N; ++n) {
        frame.bounds[n] = ptr[n] - base;
        at += margins.left;
        for (std::int64_t t = ptr[n]; t < ptr[n + 1]; ++t) frame.cell[t - base] = at++;
        at += margins.right;
    }
    frame.bounds[N] = ptr[N] - base;
    frame.cells = static_cast<std::size_t>(at);
    frame.values.resize(columns * frame.cells);
}

void fill_margins(std::size_t c, std::int32_t n, const Margins &margins, Frame &frame) {
    std::int32_t *at = frame.column(c).data();
    for (std::size_t s = 0; s + 1 < frame.bounds.size(); ++s) {
        for (std::int32_t d = margins.left; d > 0; --d) *at++ = margins.marked ? n + d - 1 : -1;
        at += frame.bounds[s + 1] - frame.bounds[s];
        for (std::int32_t d = 1; d <= margins.right; ++d)
            *at++ = margins.marked ? n + margins.left + d - 1 : -1;
    }
}

void TokenRows::reserve(std::size_t n) {
    ids.reset(static_cast<std::int32_t *>(std::malloc(std::max<std::size_t>(n, 1) * sizeof(std::int32_t))));
    if (!ids) throw std::bad_alloc();
}

void TokenRows::shrink(std::size_t n) {
    void *kept = std::realloc(ids.get(), std::max<std::size_t>(n, 1) * sizeof(std::int32_t));
    if (kept == nullptr) return; // the old memory is still valid
    (void)ids.release();
    ids.reset(static_cast<std::int32_t *>(kept));
}

TemplateTables::TemplateTables(const Template &pattern, std::span<const std::uint64_t> radix,
                               std::int32_t n_values_)
    : stages(features::stages(pattern, radix)), window(pattern.window), atoms(pattern.atoms),
      n_values(n_values_) {
    for (const Stage &stage : stages)
        tables.emplace_back(stage.span, stage.digits.size() == 1 && stage.carry_stride == 0);
}

void TemplateTables::count(const Frame &frame, std::span<std::int32_t> out) { extract(*this, frame, out); }

void TemplateTables::find(const Frame &frame, std::span<std::int32_t> out) const {
    extract(*this, frame, out);
}

} // namespace chaffinch::features
