// Maps exact 64-bit keys to dense int32 ids, in order of first sight; counts keys while it grows.
#pragma once

#include "give_back.hpp"

#include <bit>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace chaffinch::features {

// Keys come from one template and are smaller than a known bound, the span. A table with a small span is a plain array;
// with a large one it uses open addressing with linear probing, 35 to 70 % full while it grows. Once its size is known,
// it is 30 to 60 % full, and 60 % if it is large.
class KeyTable {
  public:
    static constexpr std::int32_t absent = -1;
    static constexpr std::uint64_t no_key = std::numeric_limits<std::uint64_t>::max();
    static constexpr std::size_t large = 1 << 18; // keys

    // `plain`: store by key even if the span is large, as for a template of one atom.
    KeyTable(std::uint64_t span, bool plain) : span_(span), dense_(plain || span <= (1u << 18)) {
        if (dense_) {
            ids_.assign(span, absent);
        } else {
            empty(64);
        }
    }

    std::uint64_t span() const { return span_; }
    bool dense() const { return dense_; }
    std::int32_t size() const { return size_; }

    // The id of key, or absent; no_key is absent.
    std::int32_t find(std::uint64_t key) const { return dense_ ? find_dense(key) : find_hashed(key); }

    std::int32_t find_dense(std::uint64_t key) const { return key < span_ ? ids_[key] : absent; }

    std::int32_t find_hashed(std::uint64_t key) const {
        std::int32_t id;
        find_hashed(&key, 1, &id);
        return id;
    }

    // The ids of n keys; the slots of several are prefetched.
    void find_hashed(const std::uint64_t *keys, std::size_t n, std::int32_t *out) const {
        if (mask_ != 0)
            find_at(Masked{mask_}, keys, n, out);
        else
            find_at(Scaled{slots_.size()}, keys, n, out);
    }

    // Prefetches what `find` or `count` will read.
    void prefetch(std::uint64_t key) const {
        if (!dense_)
            __builtin_prefetch(&slots_[place(key)], 1);
        else if (key < span_)
            __builtin_prefetch(&ids_[key], 1);
    }

    // The id of key, given one now if it has none; one more occurrence is counted. no_key is absent.
    std::int32_t count(std::uint64_t key) { return dense_ ? count_dense(key) : count_hashed(key); }

    std::int32_t count_dense(std::uint64_t key) {
        if (key >= span_) return absent;
        std::int32_t &id = ids_[key];
        if (id == absent) {
            id = size_++;
            keys_.push_back(key);
            counts_.push_back(0);
        }
        ++counts_[id];
        return id;
    }

    std::int32_t count_hashed(std::uint64_t key) {
        if (key == no_key) return absent;
        std::size_t i = place(key);
        for (; slots_[i].key != no_key; i = after(i))
            if (slots_[i].key == key) {
                ++slots_[i].count;
                return slots_[i].id;
            }
        const std::int32_t id = size_++;
        slots_[i] = {key, id, 1};
        if (10 * static_cast<std::size_t>(size_) > 7 * slots_.size()) resize(2 * slots_.size());
        return id;
    }

    // Expect `n` keys to be counted: until then a table by open addressing does not grow.
    void expect(std::size_t n) {
        if (!dense_) clear(n);
    }

    // Keys by id, ids being 0 .. size-1.
    std::vector<std::uint64_t> keys() const {
        if (dense_) return keys_;
        std::vector<std::uint64_t> out(static_cast<std::size_t>(size_));
        for (const Slot &slot : slots_)
            if (slot.key != no_key) out[slot.id] = slot.key;
        return out;
    }

    // Replace each id by ids[id]; nothing is counted afterwards.
    void renumber(std::span<const std::int32_t> ids) {
        machine::release(keys_);
        machine::release(counts_);
        for (std::int32_t &id : ids_)
            if (id != absent) id = ids[id];
        for (Slot &slot : slots_)
            if (slot.key != no_key) slot.id = ids[slot.id];
    }

    // Keys and counts by id, ids being 0 .. size-1; the table is empty afterwards and its memory free.
    std::pair<std::vector<std::uint64_t>, std::vector<std::int32_t>> drained() {
        if (dense_) {
            size_ = 0;
            machine::release(ids_);
            return {std::exchange(keys_, {}), std::exchange(counts_, {})};
        }
        std::pair<std::vector<std::uint64_t>, std::vector<std::int32_t>> out(size_, size_);
        for (const Slot &slot : slots_)
            if (slot.key != no_key) {
                out.first[slot.id] = slot.key;
                out.second[slot.id] = slot.count;
            }
        size_ = 0;
        machine::release(slots_);
        return out;
    }

    // out[c] += how many keys were counted c times; those beyond out are added to out[0].
    void count_counts(std::vector<std::int64_t> &out) const {
        const auto add = [&](std::int32_t c) { ++out[static_cast<std::size_t>(c) < out.size() ? static_cast<std::size_t>(c) : 0]; };
        for (const std::int32_t c : counts_) add(c);
        for (const Slot &slot : slots_)
            if (slot.key != no_key) add(slot.count);
    }

    // Forget everything, and expect `n` keys to be set.
    void clear(std::size_t n) {
        size_ = 0;
        machine::release(keys_);
        machine::release(counts_);
        if (dense_) {
            ids_.assign(span_, absent);
            return;
        }
        std::size_t slots = 64; // at most 60 % full: it will not grow any more
        while (3 * slots < 5 * n) slots *= 2;
        machine::release(slots_);
        empty(n < large ? slots : 5 * n / 3 + 1);
    }

    // Give key this id; false if the key is out of range or has one already. After clear(n), at most n times.
    bool set(std::uint64_t key, std::int32_t id) {
        if (key >= span_) return false;
        if (dense_) {
            if (ids_[key] != absent) return false;
            ids_[key] = id;
        } else {
            std::size_t i = place(key);
            for (; slots_[i].key != no_key; i = after(i))
                if (slots_[i].key == key) return false;
            slots_[i] = {key, id, 0};
        }
        ++size_;
        return true;
    }

    std::size_t bytes() const {
        return ids_.capacity() * sizeof(std::int32_t) + slots_.capacity() * sizeof(Slot) +
               keys_.capacity() * sizeof(std::uint64_t) + counts_.capacity() * sizeof(std::int32_t);
    }

  private:
    struct Slot {
        std::uint64_t key;
        std::int32_t id;
        std::int32_t count;
    };

    // Keys are nearly consecutive numbers; a multiplication spreads them. A fold of its halves is masked if the number of
    // slots is a power of two, which is faster; else the upper half is scaled to the slots.
    static std::uint64_t spread(std::uint64_t key) { return key * 0x9e3779b97f4a7c15ULL; }
    struct Masked {
        std::size_t mask;
        std::size_t place(std::uint64_t key) const { return static_cast<std::size_t>(spread(key) ^ (spread(key) >> 32)) & mask; }
        std::size_t after(std::size_t i) const { return (i + 1) & mask; }
    };
    struct Scaled {
        std::size_t slots;
        std::size_t place(std::uint64_t key) const { return static_cast<std::size_t>((spread(key) >> 32) * slots >> 32); }
        std::size_t after(std::size_t i) const { return i + 1 == slots ? 0 : i + 1; }
    };
    std::size_t place(std::uint64_t key) const { return mask_ != 0 ? Masked{mask_}.place(key) : Scaled{slots_.size()}.place(key); }
    std::size_t after(std::size_t i) const { return mask_ != 0 ? Masked{mask_}.after(i) : Scaled{slots_.size()}.after(i); }

    template <class Places>
    void find_at(const Places at, const std::uint64_t *keys, std::size_t n, std::int32_t *out) const {
        const Slot *const slots = slots_.data();
        if (n > 1)
            for (std::size_t i = 0; i < n; ++i) __builtin_prefetch(slots + at.place(keys[i]));
        for (std::size_t i = 0; i < n; ++i) {
            std::size_t k = at.place(keys[i]);
            while (slots[k].key != keys[i] && slots[k].key != no_key) k = at.after(k);
            out[i] = slots[k].id;
        }
    }

    // Takes n empty slots; returns those that it had.
    std::vector<Slot> empty(std::size_t n) {
        std::vector<Slot> old(n, Slot{no_key, absent, 0});
        old.swap(slots_);
        mask_ = std::has_single_bit(n) ? n - 1 : 0;
        return old;
    }

    void resize(std::size_t n) {
        const std::vector<Slot> old = empty(n);
        for (const Slot &slot : old) {
            if (slot.key == no_key) continue;
            std::size_t i = place(slot.key);
            while (slots_[i].key != no_key) i = after(i);
            slots_[i] = slot;
        }
    }

    std::uint64_t span_;
    bool dense_;
    std::int32_t size_ = 0;
    std::size_t mask_ = 0;             // the number of slots minus 1, if it is a power of two
    std::vector<std::int32_t> ids_;    // dense: [span] id or absent
    std::vector<std::uint64_t> keys_;  // dense: [size] while counting
    std::vector<std::int32_t> counts_; // dense: [size] while counting
    std::vector<Slot> slots_;          // hashed
};

} // namespace chaffinch::features
