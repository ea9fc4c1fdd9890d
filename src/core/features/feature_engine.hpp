// The feature engine: words to columns, columns to features, a frozen index once trained.
#pragma once

#include "code_points.hpp"
#include "extraction.hpp"
#include "interner.hpp"
#include "phrases.hpp"
#include "sentence_columns.hpp"
#include "templates.hpp"
#include "word_functions.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace chaffinch::features {

// A function of the words of one source (a column of the corpus).
struct WordColumn {
    std::int32_t source;
    text::WordFunction function;
    std::int32_t parameter = 0;
};

// Words and the bit paths of their clusters.
struct Clusters {
    text::Interner words;
    std::vector<std::int32_t> path; // [words] into paths
    text::Interner paths;
};

// The settings fixed before any text is seen.
struct Design {
    std::int32_t sources = 0; // source 0 is the word itself
    std::vector<WordColumn> words;
    std::vector<SentenceColumn> sentences;
    std::vector<std::string> names; // [words + sentences]: columns are numbered in this order
    std::vector<Template> templates;
    bool marked = true;
    std::vector<std::string> prepositions;
    std::vector<std::string> triggers;
    std::vector<std::string> lists;
    Phrases phrases;
    Clusters clusters;
};

// The distinct words of one source and their value in every column.
struct Words {
    text::Interner texts;
    std::vector<std::vector<std::int32_t>> values; // [word columns][words], only those of the source
    std::vector<std::uint32_t> traits;             // [words]
    std::vector<std::int32_t> phrase;              // [words] number in the phrases
    std::vector<std::int32_t> lower;               // [words] into lowers
    text::Interner lowers;
};

// Sentences as ids into Words, one column per source; -1 if a token has no value.
struct Tokens {
    std::span<const std::int64_t> ptr; // [N+1]
    std::vector<std::span<const std::int32_t>> ids;
    std::vector<const Words *> words;
    std::span<const std::int32_t> groups; // [N] or empty

    std::size_t sentences() const { return ptr.size() - 1; }
    std::size_t size() const { return static_cast<std::size_t>(ptr.back()); }

    // The end of a run of sentences from `from` with about `most` tokens; documents are not split.
    std::size_t stretch(std::size_t from, std::int64_t most) const {
        std::size_t to = from + 1;
        while (to < sentences() &&
               (ptr[to + 1] - ptr[from] <= most || (!groups.empty() && groups[to] == groups[to - 1])))
            ++to;
        return to;
    }
};

// The contents of an index, enough to rebuild it.
struct IndexState {
    std::vector<std::uint16_t> feature_template; // [F]
    std::vector<std::uint64_t> feature_key;      // [F]
    std::vector<std::int64_t> observation_ptr;   // [label templates + 1]
    std::vector<std::uint64_t> observation_key;
    std::vector<std::int64_t> join_ptr; // [joins + 1], template by template
    std::vector<std::uint64_t> join_key;
};

class FeatureEngine {
  public:
    explicit FeatureEngine(Design design);

    const Design &design() const { return design_; }
    text::CodePoints &code_points() { return points_; }

    std::int32_t n_features() const { return static_cast<std::int32_t>(state_.feature_key.size()); }
    std::size_t n_labelled() const { return labelled_.size(); }
    std::int32_t n_observations(std::size_t l) const {
        return static_cast<std::int32_t>(state_.observation_ptr[l + 1] - state_.observation_ptr[l]);
    }
    std::span<const std::int32_t> counts() const { return counts_; }
    const IndexState &state() const { return state_; }
    std::size_t index_bytes() const;

    // Words ---------------------------------------------------------------------------------------------
    Words words() const;

    // The number of a word in `words`; a new word is described first: every native column gets its value. While
    // `growing`, new values get ids; afterwards they are -1. `lower` is for words beyond ASCII.
    std::int32_t describe(std::int32_t source, std::string_view text, std::string_view lower, bool growing,
                          Words &words);

    // The value of an external column for a word, or none.
    void set_external(std::size_t column, std::int32_t word, const std::string_view *value, bool growing,
                      Words &words);

    const text::Interner &values(std::size_t column) const { return values_[column]; }
    const text::Interner &runs() const { return runs_; }
    std::int32_t n_values(std::size_t column) const;

    // Features ------------------------------------------------------------------------------------------

    // Builds the index. Observations [T][label templates] are written beside the rows.
    TokenRows fit(const Tokens &tokens, std::int32_t min_count, std::size_t threads,
             std::vector<std::int32_t> &observations);

    // The same in parts, for a text larger than memory: first see the runs of all parts, then count features part by
    // part, then freeze the index. All words must have been described before, with `growing`.
    void see_runs(const Tokens &tokens) { find_runs(tokens); }
    bool reads_runs() const { return reads_runs_; }
    void open() { open_tables(); }
    void tally(const Tokens &tokens, std::size_t threads);
    std::vector<std::int64_t> rare(std::size_t most) const; // number of features counted once, twice, ... so far
    void close(std::int32_t min_count);

    // Adds further text to the index: every feature keeps its id, and new features follow, whatever their count. The
    // words of the tokens must have been described with `growing`.
    TokenRows grow(const Tokens &tokens, std::size_t threads, std::vector<std::int32_t> &observations);

    // An engine of the same columns and values without features, and the features of another engine that are to be kept,
    // in their order; keep [F]. Together they prune an index without a copy of its tables, which may be gigabytes.
    FeatureEngine without_features() const;
    void take(const FeatureEngine &whole, std::span<const std::uint8_t> keep);

    // Looks up with the frozen index.
    TokenRows find(const Tokens &tokens, std::size_t threads, std::vector<std::int32_t> &observations) const;

    // The two halves of `find`, for a run of sentences: only the first reads Words.
    void fill(const Tokens &tokens, std::size_t first, std::size_t last, Frame &frame) const;
    std::size_t find(const Frame &frame, std::int64_t *lengths, std::int32_t *ids,
                     std::int32_t *observations) const;

    // Most features a token can have.
    std::size_t slots() const { return slots_; }

    // "w[-1]=the|w[0]=dog"
    std::string feature_name(std::int32_t feature) const;
    std::string observation_name(std::size_t l, std::int32_t observation) const;

    // Takes over a saved index; throws std::invalid_argument if any key or number is out of range.
    void restore(std::vector<std::vector<std::string>> values, const std::vector<std::string> &runs,
                 IndexState state);

  private:
    bool value(const WordColumn &column, std::string_view text, std::string &out) const;
    void open_tables();
    void lay_out_tables(); // by sizes_
    void find_runs(const Tokens &tokens);
    TokenRows count(const Tokens &tokens, std::size_t threads, std::vector<std::int32_t> &observations);
    void renumber(const std::vector<std::vector<std::int32_t>> &renumbered, TokenRows &rows,
                  std::vector<std::int32_t> &observations) const;
    void list_joins();
    bool has_none(std::size_t column) const; // its last value stands for "none"
    void freeze(std::int32_t min_count, std::vector<std::vector<std::int32_t>> &renumbered);
    void rebuild_tables();
    std::string name(const TemplateTables &t, std::uint64_t key) const;
    void append_value(std::size_t column, std::int32_t offset, std::int32_t value, std::string &out) const;

    Design design_;
    text::CodePoints points_;
    struct Asked { // a value on its way to an id
        std::size_t column, start, size;
        std::uint64_t hash;
    };
    text::Word word_; // workspace of describe, with the two below
    std::string text_, asked_text_;
    std::vector<Asked> asked_;
    text::Interner prepositions_;
    text::Interner triggers_;
    std::vector<Phrases::Lists> combinations_;
    std::vector<std::vector<std::string>> fixed_;     // [sentence columns]
    std::vector<std::vector<std::size_t>> of_source_; // [sources] its word columns
    bool reads_runs_ = false, reads_elsewhere_ = false, reads_phrases_ = false, reads_traits_ = false;

    std::vector<text::Interner> values_; // [word columns]
    text::Interner runs_;

    Margins margins_;
    std::size_t slots_ = 0;
    std::vector<std::size_t> plain_;     // templates without labels
    std::vector<std::size_t> labelled_;  // templates with
    std::vector<TemplateTables> tables_; // [templates]
    std::vector<std::int32_t> sizes_;    // [columns] values when the tables were opened
    IndexState state_;
    std::vector<std::int32_t> counts_; // [F], of the training text
};

} // namespace chaffinch::features
