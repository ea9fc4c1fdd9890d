// Ladders: classes of words that stand in for an unseen word, from "*", any word, to the narrowest. For an unseen word
// a model uses the narrowest rung that it knows.
//
//   one       *
//   classes   *  Xx  Xx-ing             its case, then its case with an English ending
//   suffix    *  Xx  Xx g  Xx og  Xx dog  = dog      case, case with 1 to 5 last letters, the word in lower case
#pragma once

#include "code_points.hpp"
#include "interner.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace chaffinch::learners {

enum class Ladder : std::uint8_t { one, classes, suffix };

// Climbs the ladder of one word after the other; the buffers are reused.
class Climber {
  public:
    explicit Climber(Ladder ladder) : ladder_(ladder) {}

    // The rungs from the widest to the narrowest, valid until the next call. `lower` is the word in lower case.
    const std::vector<std::string>& climb(std::string_view word, std::string_view lower, text::CodePoints& points);

    // The case class of a word: Xx, x, XX, xX, 9, 9x, x-x, @, # and so on.
    static std::string_view case_class(std::string_view word, text::CodePoints& points);

  private:
    std::string& next();

    Ladder ladder_;
    std::vector<std::string> rungs_;
    std::size_t used_ = 0;
};

// Words and rungs numbered in one row: word v is symbol v, rung r is symbol V + r; rung 0 is "*".
struct EmissionSymbols {
    text::Interner words;
    text::Interner rungs;

    std::int32_t size() const { return words.size() + rungs.size(); }

    // The narrowest known rung.
    std::int32_t rung(const std::vector<std::string>& ladder) const;
};

} // namespace chaffinch::learners
