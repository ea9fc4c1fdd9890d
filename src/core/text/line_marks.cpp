#include "line_marks.hpp"

#include <array>
#include <cstring>

#if defined(__ARM_NEON) && defined(__aarch64__)
#include <arm_neon.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace chaffinch::text {

namespace {

#if defined(__ARM_NEON) && defined(__aarch64__)

// 64 bytes in four registers.
class Bytes64 {
  public:
    explicit Bytes64(const char* from) {
        for (int i = 0; i < 4; ++i) part_[i] = vld1q_u8(reinterpret_cast<const std::uint8_t*>(from) + 16 * i);
    }

    // Bit i: byte i is one of these.
    std::uint64_t equal(char sign, char other) const {
        const uint8x16_t a = vdupq_n_u8(static_cast<std::uint8_t>(sign)), b = vdupq_n_u8(static_cast<std::uint8_t>(other));
        constexpr std::array<std::uint8_t, 16> places{1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
        const uint8x16_t place = vld1q_u8(places.data());
        const auto found = [&](int i) { return vandq_u8(vorrq_u8(vceqq_u8(part_[i], a), vceqq_u8(part_[i], b)), place); };
        uint8x16_t sum = vpaddq_u8(vpaddq_u8(found(0), found(1)), vpaddq_u8(found(2), found(3)));
        sum = vpaddq_u8(sum, sum);
        return vgetq_lane_u64(vreinterpretq_u64_u8(sum), 0);
    }

  private:
    uint8x16_t part_[4];
};

#elif defined(__SSE2__)

class Bytes64 {
  public:
    explicit Bytes64(const char* from) {
        for (int i = 0; i < 4; ++i) part_[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + 16 * i));
    }

    std::uint64_t equal(char sign, char other) const {
        const __m128i a = _mm_set1_epi8(sign), b = _mm_set1_epi8(other);
        std::uint64_t found = 0;
        for (int i = 0; i < 4; ++i) {
            const __m128i same = _mm_or_si128(_mm_cmpeq_epi8(part_[i], a), _mm_cmpeq_epi8(part_[i], b));
            found |= static_cast<std::uint64_t>(static_cast<std::uint32_t>(_mm_movemask_epi8(same))) << 16 * i;
        }
        return found;
    }

  private:
    __m128i part_[4];
};

#else

class Bytes64 {
  public:
    explicit Bytes64(const char* from) { std::memcpy(part_, from, sizeof part_); }

    std::uint64_t equal(char sign, char other) const {
        std::uint64_t found = 0;
        for (int i = 0; i < 64; ++i) found |= static_cast<std::uint64_t>(part_[i] == sign || part_[i] == other) << i;
        return found;
    }

  private:
    char part_[64];
};

#endif

} // namespace

void LineMarks::mark(std::string_view lines, char sign, char other) {
    const std::size_t whole = lines.size() / bits, rest = lines.size() % bits;
    lines_ = lines.data();
    feeds_.resize(whole + 2);
    signs_.resize(whole + 2);
    count_ = 0;
    const auto put = [&](std::size_t word, const char* from) {
        const Bytes64 bytes(from);
        feeds_[word] = bytes.equal('\n', '\n');
        signs_[word] = bytes.equal(sign, other);
        count_ += static_cast<std::size_t>(std::popcount(feeds_[word]));
    };
    for (std::size_t word = 0; word < whole; ++word) put(word, lines.data() + word * bits);
    std::array<char, bits> last;
    last.fill('\n'); // a search for a line end stops there
    std::memcpy(last.data(), lines.data() + whole * bits, rest);
    put(whole, last.data());
    count_ -= bits - rest; // which fill the last word
    feeds_[whole + 1] = signs_[whole + 1] = 0;
}

} // namespace chaffinch::text
