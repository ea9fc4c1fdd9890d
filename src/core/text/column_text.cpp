#include "column_text.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <span>
#include <utility>

namespace chaffinch::text {

namespace {

constexpr std::size_t shown_bytes = 400; // of a faulty line

bool is_space(char c) { return c == ' ' || c == '\t'; }

bool is_blank(std::string_view s) { return std::ranges::all_of(s, is_space); }

bool is_number(std::string_view s) {
    return !s.empty() && std::ranges::all_of(s, [](char c) { return c >= '0' && c <= '9'; });
}

bool is_number_like(std::string_view s) {
    return !s.empty() && s.find_first_not_of("0123456789-.") == std::string_view::npos;
}

// The length of the well-formed sequence at p that begins with a byte >= 0x80, or 0.
std::size_t sequence_length(const unsigned char* p, std::size_t n) {
    const auto continues = [&](std::size_t i) { return i < n && (p[i] & 0xC0) == 0x80; };
    if (p[0] >= 0xC2 && p[0] <= 0xDF) return continues(1) ? 2 : 0;
    if ((p[0] & 0xF0) == 0xE0) {
        if (!continues(1) || !continues(2)) return 0;
        if (p[0] == 0xE0 && p[1] < 0xA0) return 0; // overlong
        if (p[0] == 0xED && p[1] > 0x9F) return 0; // surrogates
        return 3;
    }
    if (p[0] >= 0xF0 && p[0] <= 0xF4) {
        if (!continues(1) || !continues(2) || !continues(3)) return 0;
        if (p[0] == 0xF0 && p[1] < 0x90) return 0; // overlong
        if (p[0] == 0xF4 && p[1] > 0x8F) return 0; // above U+10FFFF
        return 4;
    }
    return 0;
}

// Bytes of a word of eight that are ``sign``, as their highest bits.
std::uint64_t equal_bytes(std::uint64_t word, char sign) {
    constexpr std::uint64_t ones = 0x0101010101010101ULL, low = 0x7F7F7F7F7F7F7F7FULL;
    word ^= ones * static_cast<unsigned char>(sign);
    return ~(((word & low) + low) | word | low);
}

struct CutLine {
    std::size_t end;   // where its line feed is
    std::size_t found; // the number of its cells
};

// Cuts the line at ``start`` at every sign: the first cells, as many as there is room for, and the number of all. Cells are
// short, so eight bytes at a time beat a search for each. lines: ends with a line feed
CutLine cut(std::string_view lines, std::size_t start, char sign, std::span<std::string_view> cells) {
    std::size_t found = 0, at = start;
    const auto end_cell = [&](std::size_t end) {
        cells[found++] = lines.substr(start, end - start);
        start = end + 1;
    };
    if constexpr (std::endian::native == std::endian::little) {
        for (; at + 8 <= lines.size(); at += 8) {
            std::uint64_t word;
            std::memcpy(&word, lines.data() + at, 8);
            const std::uint64_t feeds = equal_bytes(word, '\n');
            std::uint64_t signs = equal_bytes(word, sign) & (feeds - 1) & ~feeds; // those before the first line feed
            for (; signs != 0 && found < cells.size(); signs &= signs - 1)
                end_cell(at + static_cast<std::size_t>(std::countr_zero(signs)) / 8);
            found += ((signs >> 7) * 0x0101010101010101ULL) >> 56;
            if (feeds != 0) {
                at += static_cast<std::size_t>(std::countr_zero(feeds)) / 8;
                break;
            }
        }
    }
    for (; lines[at] != '\n'; ++at)
        if (lines[at] == sign) {
            if (found < cells.size())
                end_cell(at);
            else
                ++found;
        }
    if (found < cells.size()) cells[found] = lines.substr(start, at - start - (at > start && lines[at - 1] == '\r'));
    return {at, found + 1};
}

} // namespace

ColumnText::ColumnText(ColumnRules rules, std::int64_t line)
    : rules_(std::move(rules)), slots_(rules_.columns, -1), cells_(rules_.columns), line_(line) {
    for (std::size_t k = 0; k < rules_.kept.size(); ++k) slots_[rules_.kept[k]] = static_cast<std::int32_t>(k);
    block_.columns.resize(rules_.kept.size());
    std::int32_t last = rules_.word;
    for (const std::int32_t c : rules_.kept) last = std::max(last, c);
    for (const std::int32_t c : rules_.marked) last = std::max(last, c);
    needed_ = static_cast<std::size_t>(last) + 1;
}

bool ColumnText::feed(std::string_view bytes) {
    if (fault_.kind != ColumnFault::Kind::none) return false;
    if (!pending_.empty()) {
        const std::size_t end = bytes.find('\n');
        if (end == std::string_view::npos) {
            pending_.append(bytes);
            if (static_cast<std::int64_t>(pending_.size()) > rules_.longest)
                return fail(ColumnFault::Kind::long_line, pending_);
            return true;
        }
        pending_.append(bytes.substr(0, end + 1));
        bytes.remove_prefix(end + 1);
        if (!read_lines(pending_)) return false;
        pending_.clear();
    }
    const std::size_t last = bytes.rfind('\n');
    const std::size_t complete = last == std::string_view::npos ? 0 : last + 1;
    if (!read_lines(bytes.substr(0, complete))) return false;
    pending_.assign(bytes.substr(complete));
    if (static_cast<std::int64_t>(pending_.size()) > rules_.longest)
        return fail(ColumnFault::Kind::long_line, pending_);
    return true;
}

bool ColumnText::finish() {
    if (fault_.kind != ColumnFault::Kind::none) return false;
    if (!pending_.empty()) {
        pending_.push_back('\n');
        if (!read_lines(pending_)) return false;
        pending_.clear();
    }
    end_sentence();
    return true;
}

SentenceBlock ColumnText::take() {
    SentenceBlock rest;
    rest.columns.resize(block_.columns.size());
    const std::int64_t done = block_.ptr.back();
    for (std::size_t k = 0; k < block_.columns.size(); ++k) {
        SentenceBlock::Column& from = block_.columns[k];
        SentenceBlock::Column& to = rest.columns[k];
        for (std::int64_t t = done; t < tokens_; ++t) to.ids.push_back(to.types.intern(from.types[from.ids[t]]));
        from.ids.resize(done);
    }
    const auto open_places = block_.places.begin() + done * static_cast<std::int64_t>(2 * rules_.marked.size());
    rest.places.assign(open_places, block_.places.end());
    block_.places.erase(open_places, block_.places.end());
    const auto open_remarks = block_.remarks.begin() + block_.heads.back();
    rest.remarks.assign(std::make_move_iterator(open_remarks), std::make_move_iterator(block_.remarks.end()));
    block_.remarks.erase(open_remarks, block_.remarks.end());
    tokens_ -= done;
    return std::exchange(block_, std::move(rest));
}

// `block` is whole lines, each with its newline.
bool ColumnText::read_lines(std::string_view block) {
    const std::size_t sound = sound_prefix(block);
    const bool returns = block.find('\r') != std::string_view::npos;
    const bool cuts = rules_.split == Split::separator && rules_.separator.size() == 1 && rules_.separator[0] != '\r';
    lines_ = block.data();
    for (std::size_t start = 0; start < block.size();) {
        std::size_t end;
        if (cuts) {
            const CutLine line = cut(block, start, rules_.separator[0], std::span(cells_).first(needed_));
            end = line.end;
            found_ = line.found;
        } else {
            end = block.find('\n', start);
        }
        std::string_view line = block.substr(start, end - start);
        if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
        if (static_cast<std::int64_t>(line.size()) > rules_.longest)
            return fail(ColumnFault::Kind::long_line, line);
        if (end > sound) return fail(block[sound] ? ColumnFault::Kind::utf8 : ColumnFault::Kind::nul, line);
        if (returns && line.find('\r') != std::string_view::npos)
            return fail(ColumnFault::Kind::carriage_return, line);
        if (!read_line(line)) return false;
        ++line_;
        start = end + 1;
    }
    read_ += static_cast<std::int64_t>(block.size());
    return true;
}

bool ColumnText::read_line(std::string_view line) {
    if (is_blank(line)) {
        end_sentence();
        return true;
    }
    const bool group = starts_group(line);
    if (group || (!rules_.comment.empty() && line.starts_with(rules_.comment))) {
        if (group) {
            end_sentence();
            ++group_;
        }
        remark(line);
        return true;
    }
    if (tokens_ == block_.ptr.back()) first_line_ = line_;
    return found_ > 0 ? add(line, found_) : split(line);
}

bool ColumnText::split(std::string_view line) {
    const auto columns = static_cast<std::size_t>(rules_.columns);
    std::size_t found = 0;
    const auto cell = [&](std::string_view s) {
        if (found < columns) cells_[found] = s;
        ++found;
    };
    std::string_view rest = line;
    switch (rules_.split) {
    case Split::separator:
        for (std::size_t at; (at = rest.find(rules_.separator)) != std::string_view::npos;) {
            cell(rest.substr(0, at));
            rest.remove_prefix(at + rules_.separator.size());
        }
        cell(rest);
        break;
    case Split::spaces:
        for (std::size_t at = 0; at < line.size();) {
            const std::size_t start = at;
            while (at < line.size() && !is_space(line[at])) ++at;
            if (at > start) cell(line.substr(start, at - start));
            while (at < line.size() && is_space(line[at])) ++at;
        }
        break;
    case Split::last:
        if (const std::size_t at = rest.rfind(rules_.separator); at != std::string_view::npos) {
            cell(rest.substr(0, at));
            rest.remove_prefix(at + rules_.separator.size());
        }
        cell(rest);
        break;
    case Split::whole: cell(rest); break;
    }
    return add(line, found);
}

// Adds the token whose cells were found.
bool ColumnText::add(std::string_view line, std::size_t found) {
    if (found != static_cast<std::size_t>(rules_.columns)) {
        if (rules_.stray_comments && tokens_ == block_.ptr.back() && line.starts_with("# ")) {
            remark(line);
            return true;
        }
        return fail(ColumnFault::Kind::columns, line, static_cast<std::int32_t>(found));
    }
    if (rules_.number_rows && !is_number(cells_[0]))
        return is_number_like(cells_[0]) || fail(ColumnFault::Kind::row_number, line);
    if (cells_[rules_.word].empty()) return fail(ColumnFault::Kind::empty_word, line);
    for (std::size_t c = 0; c < needed_; ++c)
        if (slots_[c] >= 0) {
            SentenceBlock::Column& column = block_.columns[slots_[c]];
            column.ids.push_back(column.types.intern(cells_[c]));
        }
    for (const std::int32_t c : rules_.marked) {
        const std::int64_t begin = read_ + (cells_[c].data() - lines_);
        block_.places.push_back(begin);
        block_.places.push_back(begin + static_cast<std::int64_t>(cells_[c].size()));
    }
    ++tokens_;
    return true;
}

bool ColumnText::starts_group(std::string_view line) const {
    if (rules_.group.empty() || line[0] != rules_.group[0] || !line.starts_with(rules_.group)) return false;
    line.remove_prefix(rules_.group.size());
    return line.empty() || line[0] == ' ' || line[0] == '\t' || line.starts_with(rules_.separator);
}

void ColumnText::remark(std::string_view line) {
    if (rules_.remarks) block_.remarks.emplace_back(line);
}

void ColumnText::end_sentence() {
    if (tokens_ == block_.ptr.back()) return;
    block_.ptr.push_back(tokens_);
    block_.lines.push_back(first_line_);
    block_.groups.push_back(group_);
    block_.heads.push_back(static_cast<std::int64_t>(block_.remarks.size()));
}

bool ColumnText::fail(ColumnFault::Kind kind, std::string_view line, std::int32_t found) {
    fault_ = {kind, line_, found, std::string(line.substr(0, shown_bytes))};
    return false;
}

std::size_t occurrences(std::string_view bytes, char sign) {
    // Counted in bytes, 32 side by side, as long as none can overflow: compilers make vectors of these.
    constexpr std::size_t width = 32, most = 255;
    std::size_t found = 0, at = 0;
    while (at + width <= bytes.size()) {
        std::array<std::uint8_t, width> counts{};
        const std::size_t steps = std::min(most, (bytes.size() - at) / width);
        for (std::size_t n = 0; n < steps; ++n, at += width)
            for (std::size_t i = 0; i < width; ++i) counts[i] += bytes[at + i] == sign;
        for (const std::uint8_t count : counts) found += count;
    }
    return found + static_cast<std::size_t>(std::ranges::count(bytes.substr(at), sign));
}

std::size_t sound_prefix(std::string_view bytes) {
    const auto* p = reinterpret_cast<const unsigned char*>(bytes.data());
    const std::size_t n = bytes.size();
    for (std::size_t i = 0; i < n;) {
        // Eight bytes in 0x01 .. 0x7F: none has its high bit, nor gains it when 1 is taken away.
        if (i + 8 <= n) {
            std::uint64_t word;
            std::memcpy(&word, p + i, 8);
            if (((word | (word - 0x0101010101010101ULL)) & 0x8080808080808080ULL) == 0) {
                i += 8;
                continue;
            }
        }
        if (p[i] == 0) return i;
        if (p[i] < 0x80) {
            ++i;
            continue;
        }
        const std::size_t length = sequence_length(p + i, n - i);
        if (length == 0) return i;
        i += length;
    }
    return n;
}

} // namespace chaffinch::text
