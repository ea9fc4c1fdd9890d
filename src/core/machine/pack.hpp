// Eight lanes that a compiler keeps in registers.
//
// On x86-64 a pack is one vector of GCC and Clang, lowered to what each clone of a hot function has. Elsewhere it is made
// of registers of 16 bytes: GCC keeps a vector wider than the target's in memory, and compares it lane by lane. The order
// of all sums is the same in both, so that all machines give the same bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#if defined(__GNUC__)
#define CHAFFINCH_INLINE [[gnu::always_inline]] inline // into each clone of a hot function
#define CHAFFINCH_INLINE_LAMBDA __attribute__((always_inline))
#else
#define CHAFFINCH_INLINE inline
#define CHAFFINCH_INLINE_LAMBDA
#endif

namespace chaffinch::machine {

inline constexpr std::int64_t lanes = 8; // every padded row is a whole number of lanes

// n lanes in one vector of the compiler
template <class T, std::int64_t n> struct VectorOf {
    typedef T type __attribute__((vector_size(sizeof(T) * n)));
};
template <class T, std::int64_t n> using Vector = typename VectorOf<T, n>::type;

// What a comparison of T gives.
template <class T> using Flag = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;

// n lanes in two halves, which are registers of 16 bytes or made of such.
template <class T, std::int64_t n> struct Halves {
    static constexpr bool in_registers = sizeof(T) * n == 32;
    template <class U> using HalfOf = std::conditional_t<in_registers, Vector<U, n / 2>, Halves<U, n / 2>>;
    using Half = HalfOf<T>;
    using Flags = Halves<Flag<T>, n>;
    Half low, high;

    CHAFFINCH_INLINE T operator[](std::int64_t l) const { return l < n / 2 ? low[l] : high[l - n / 2]; }
    CHAFFINCH_INLINE void read(const T* from) {
        if constexpr (in_registers)
            std::memcpy(&low, from, sizeof low), std::memcpy(&high, from + n / 2, sizeof high);
        else
            low.read(from), high.read(from + n / 2);
    }
    CHAFFINCH_INLINE void write(T* to) const {
        if constexpr (in_registers)
            std::memcpy(to, &low, sizeof low), std::memcpy(to + n / 2, &high, sizeof high);
        else
            low.write(to), high.write(to + n / 2);
    }
    CHAFFINCH_INLINE friend Halves operator-(const Halves& a) { return {-a.low, -a.high}; }
    CHAFFINCH_INLINE friend Halves operator~(const Halves& a) { return {~a.low, ~a.high}; }

#define CHAFFINCH_LANES(result, op)                                                                                    \
    CHAFFINCH_INLINE friend result operator op(const Halves& a, const Halves& b) { return {a.low op b.low, a.high op b.high}; } \
    CHAFFINCH_INLINE friend result operator op(const Halves& a, T b) { return {a.low op b, a.high op b}; }             \
    CHAFFINCH_INLINE friend result operator op(T a, const Halves& b) { return {a op b.low, a op b.high}; }
#define CHAFFINCH_LANES_INTO(op)                                                                                       \
    CHAFFINCH_LANES(Halves, op)                                                                                        \
    template <class Other> CHAFFINCH_INLINE Halves& operator op##=(const Other& b) { return *this = *this op b; }
    CHAFFINCH_LANES_INTO(+)
    CHAFFINCH_LANES_INTO(-)
    CHAFFINCH_LANES_INTO(*)
    CHAFFINCH_LANES_INTO(/)
    CHAFFINCH_LANES_INTO(&)
    CHAFFINCH_LANES_INTO(|)
    CHAFFINCH_LANES_INTO(<<)
    CHAFFINCH_LANES(Flags, ==)
    CHAFFINCH_LANES(Flags, !=)
    CHAFFINCH_LANES(Flags, <)
    CHAFFINCH_LANES(Flags, >)
    CHAFFINCH_LANES(Flags, <=)
    CHAFFINCH_LANES(Flags, >=)
#undef CHAFFINCH_LANES_INTO
#undef CHAFFINCH_LANES
};

#ifdef __x86_64__
inline constexpr bool one_vector = true;
#else
inline constexpr bool one_vector = false;
#endif
template <class T> using Pack = std::conditional_t<one_vector, Vector<T, lanes>, Halves<T, lanes>>;

template <class T> CHAFFINCH_INLINE void get(Pack<T>& pack, const T* from) {
    if constexpr (requires { pack.low; })
        pack.read(from);
    else
        std::memcpy(&pack, from, sizeof pack);
}
template <class T> CHAFFINCH_INLINE void put(T* to, const Pack<T>& pack) {
    if constexpr (requires { pack.low; })
        pack.write(to);
    else
        std::memcpy(to, &pack, sizeof pack);
}

// a in lanes that the mask has, b in the others
template <class Mask, class Lanes> CHAFFINCH_INLINE Lanes select(const Mask& mask, const Lanes& a, const Lanes& b) {
    if constexpr (requires { mask.low; })
        return {select(mask.low, a.low, b.low), select(mask.high, a.high, b.high)};
    else
        return mask ? a : b;
}
template <class Lanes> CHAFFINCH_INLINE Lanes larger(const Lanes& a, const Lanes& b) { return select(a > b, a, b); }
template <class Lanes> CHAFFINCH_INLINE Lanes smaller(const Lanes& a, const Lanes& b) { return select(a < b, a, b); }

// All lanes by an operation that takes two: 0-3 with 4-7, then 0-1 with 2-3, then 0 with 1.
static_assert(lanes == 8);

template <class With, class Lanes> CHAFFINCH_INLINE auto folded(const Lanes& a) {
    constexpr With with;
    if constexpr (requires { a.low; }) {
        return folded<With>(with(a.low, a.high));
    } else {
        constexpr auto n = sizeof a / sizeof a[0];
        Lanes all = a;
        if constexpr (n == 8) {
            all = with(all, __builtin_shufflevector(all, all, 4, 5, 6, 7, 0, 1, 2, 3));
            all = with(all, __builtin_shufflevector(all, all, 2, 3, 0, 1, 6, 7, 4, 5));
        } else if constexpr (n == 4) {
            all = with(all, __builtin_shufflevector(all, all, 2, 3, 0, 1));
        }
        return with(all[0], all[1]);
    }
}

struct Plus {
    template <class A> CHAFFINCH_INLINE A operator()(const A& a, const A& b) const { return a + b; }
};
struct Larger {
    template <class A> CHAFFINCH_INLINE A operator()(const A& a, const A& b) const { return larger(a, b); }
};
struct Either {
    template <class A> CHAFFINCH_INLINE A operator()(const A& a, const A& b) const { return a | b; }
};

template <class Lanes> CHAFFINCH_INLINE auto total(const Lanes& pack) { return folded<Plus>(pack); }
template <class Lanes> CHAFFINCH_INLINE auto largest(const Lanes& pack) { return folded<Larger>(pack); }
template <class Lanes> CHAFFINCH_INLINE bool any(const Lanes& mask) { return folded<Either>(mask) != 0; }

// Lanes 0-3 and 4-7 of a pack of floats.
CHAFFINCH_INLINE void halved(const Pack<float>& pack, Vector<float, 4>& low, Vector<float, 4>& high) {
#ifdef __x86_64__
    low = __builtin_shufflevector(pack, pack, 0, 1, 2, 3), high = __builtin_shufflevector(pack, pack, 4, 5, 6, 7);
#else
    low = pack.low, high = pack.high;
#endif
}

// The same bits as lanes of another type.
template <class U, class Lanes> CHAFFINCH_INLINE auto read_as(const Lanes& a) {
    if constexpr (requires { a.low; })
        return Halves<U, sizeof a / sizeof(U)>{read_as<U>(a.low), read_as<U>(a.high)};
    else
        return reinterpret_cast<Vector<U, sizeof a / sizeof(U)>>(a);
}

// The same numbers as another type.
template <class U, class T> CHAFFINCH_INLINE Pack<U> converted(const Pack<T>& a) {
#ifdef __x86_64__
    return __builtin_convertvector(a, Pack<U>);
#else
    if constexpr (sizeof(U) == sizeof(T)) {
        return {__builtin_convertvector(a.low, Vector<U, 4>), __builtin_convertvector(a.high, Vector<U, 4>)};
    } else if constexpr (sizeof(U) > sizeof(T)) {
        const auto half = [](const auto& four) CHAFFINCH_INLINE_LAMBDA {
            return Halves<U, 4>{__builtin_convertvector(__builtin_shufflevector(four, four, 0, 1), Vector<U, 2>),
                                __builtin_convertvector(__builtin_shufflevector(four, four, 2, 3), Vector<U, 2>)};
        };
        return {half(a.low), half(a.high)};
    } else {
        const auto half = [](const auto& four) CHAFFINCH_INLINE_LAMBDA {
            return __builtin_shufflevector(__builtin_convertvector(four.low, Vector<U, 2>),
                                           __builtin_convertvector(four.high, Vector<U, 2>), 0, 1, 2, 3);
        };
        return {half(a.low), half(a.high)};
    }
#endif
}

// 0, 1, 2 ... 7
template <class T> CHAFFINCH_INLINE Pack<T> numbered() {
    constexpr T numbers[] = {0, 1, 2, 3, 4, 5, 6, 7};
    Pack<T> pack;
    get<T>(pack, numbers);
    return pack;
}

// pack[l] = value
template <class T> CHAFFINCH_INLINE void set_lane(Pack<T>& pack, std::int64_t l, T value) {
    pack = select(numbered<Flag<T>>() == static_cast<Flag<T>>(l), Pack<T>{} + value, pack);
}

// Calls work<P>(k) for runs of P packs that begin at k and cover a row of S: as many as registers hold, and the rest.
template <std::int64_t most = 4, class Work> CHAFFINCH_INLINE void in_packs(std::int64_t S, Work&& work) {
    static_assert(most == 4 || most == 8);
    std::int64_t k = 0;
    for (; k + most * lanes <= S; k += most * lanes) work.template operator()<most>(k);
    const std::int64_t rest = (S - k) / lanes;
    if constexpr (most == 8) {
        switch (rest) {
        case 4: return work.template operator()<4>(k);
        case 5: return work.template operator()<5>(k);
        case 6: return work.template operator()<6>(k);
        case 7: return work.template operator()<7>(k);
        default: break;
        }
    }
    switch (rest) {
    case 1: return work.template operator()<1>(k);
    case 2: return work.template operator()<2>(k);
    case 3: return work.template operator()<3>(k);
    default: return;
    }
}

} // namespace chaffinch::machine
