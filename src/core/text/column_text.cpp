#include "column_text.hpp"

#include <algorithm>
#include <array>
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

// Room for more items, without a copy for each time that there are twice as many.
template <class Item> void make_room(std::vector<Item>& items, std::size_t more) {
    if (items.capacity() - items.size() < more) items.reserve(std::max(items.size() + more, 2 * items.capacity()));
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

} // namespace

ColumnText::ColumnText(ColumnRules rules, std::int64_t line, std::vector<Interner*> shared)
    : rules_(std::move(rules)), shared_(std::move(shared)), numbers_(rules_.kept.size()), cells_(rules_.columns), line_(line) {
    block_.columns.resize(rules_.kept.size());
    std::int32_t last = rules_.word;
    for (const std::int32_t c : rules_.kept) last = std::max(last, c);
    for (const std::int32_t c : rules_.marked) last = std::max(last, c);
    needed_ = static_cast<std::size_t>(last) + 1;
    cuts_ = rules_.split == Split::spaces ||
            (rules_.split == Split::separator && rules_.separator.size() == 1 && rules_.separator[0] != '\r');
    for (const char c : {' ', '\t', '\n', '\r'}) odd_[static_cast<unsigned char>(c)] = true;
    for (const std::string* start : {&rules_.comment, &rules_.group})
        if (!start->empty()) odd_[static_cast<unsigned char>(start->front())] = true;
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
        for (std::int64_t t = done; t < tokens_; ++t)
            to.ids.push_back(shared_.empty() ? to.types.intern(from.types[from.ids[t]]) : from.ids[t]);
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
    if (block.empty()) return true;
    lines_ = block;
    const bool sound = read_each();
    for (std::size_t k = 0; k < numbers_.size(); ++k) numbers_[k].finish(types(k), block_.columns[k].ids);
    read_ += static_cast<std::int64_t>(block.size());
    return sound;
}

bool ColumnText::read_each() {
    const std::size_t sound = sound_prefix(lines_);
    const bool returns = lines_.find('\r') != std::string_view::npos;
    const bool plain = sound == lines_.size() && !returns && static_cast<std::int64_t>(sound) <= rules_.longest;
    const bool spaces = rules_.split == Split::spaces;
    if (cuts_) {
        marks_.mark(lines_, spaces ? ' ' : rules_.separator[0], spaces ? '\t' : rules_.separator[0]);
        for (SentenceBlock::Column& column : block_.columns) make_room(column.ids, marks_.count());
        make_room(block_.places, 2 * rules_.marked.size() * marks_.count());
    }
    for (std::size_t start = 0; start < lines_.size(); ++line_) {
        const std::size_t end = cuts_ ? marks_.line_end(start) : lines_.find('\n', start);
        std::string_view line(lines_.data() + start, end - start);
        if (!plain) {
            if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
            if (static_cast<std::int64_t>(line.size()) > rules_.longest) return fail(ColumnFault::Kind::long_line, line);
            if (end > sound) return fail(lines_[sound] ? ColumnFault::Kind::utf8 : ColumnFault::Kind::nul, line);
            if (returns && line.find('\r') != std::string_view::npos) return fail(ColumnFault::Kind::carriage_return, line);
        }
        const bool odd = odd_[static_cast<unsigned char>(lines_[start])];
        if (!(odd ? read_line(line) : read_token(line))) return false;
        start = end + 1;
    }
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
    return read_token(line);
}

bool ColumnText::read_token(std::string_view line) {
    if (tokens_ == block_.ptr.back()) first_line_ = line_;
    return add(line, cuts_ ? cut(line) : split(line));
}

// The cells of a line, and the number of them.
std::size_t ColumnText::cut(std::string_view line) {
    const auto start = static_cast<std::size_t>(line.data() - lines_.data()), end = start + line.size();
    if (rules_.split == Split::spaces && marks_.has_runs(start, end)) return split(line);
    return marks_.cut(start, end, std::span(cells_).first(needed_));
}

std::size_t ColumnText::split(std::string_view line) {
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
    return found;
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
    for (std::size_t k = 0; k < numbers_.size(); ++k)
        numbers_[k].add(cells_[rules_.kept[k]], lines_, types(k), block_.columns[k].ids);
    for (const std::int32_t c : rules_.marked) {
        const std::string_view cell = cells_[static_cast<std::size_t>(c)];
        const std::int64_t begin = read_ + (cell.data() - lines_.data());
        block_.places.push_back(begin);
        block_.places.push_back(begin + static_cast<std::int64_t>(cell.size()));
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
    // Bytes in 0x01 .. 0x7F: none of eight has its high bit, nor gains it when 1 is taken away.
    const auto odd = [&](std::size_t at) {
        std::uint64_t word;
        std::memcpy(&word, p + at, 8);
        return (word | (word - 0x0101010101010101ULL)) & 0x8080808080808080ULL;
    };
    for (std::size_t i = 0; i < n;) {
        if (i + 32 <= n && (odd(i) | odd(i + 8) | odd(i + 16) | odd(i + 24)) == 0) {
            i += 32;
            continue;
        }
        if (i + 8 <= n && odd(i) == 0) {
            i += 8;
            continue;
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
