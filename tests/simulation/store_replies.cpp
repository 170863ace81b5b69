#include "tests/simulation/store_replies.hpp"

#include <algorithm>
#include <charconv>

namespace mxkv::simulation {

namespace {

constexpr std::ptrdiff_t kSpacesOfGets = 4;

constexpr std::string_view kCrLf = "\r\n";

std::uint64_t number_in(std::string_view text) {
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// The word behind a flag's letters; empty: there is none.
std::string_view flag(std::string_view line, std::string_view letters) {
  std::size_t at = line.find(' ');
  while (at != std::string_view::npos) {
    const std::size_t begin = at + 1;
    at = line.find(' ', begin);
    const std::string_view word = line.substr(begin, at == std::string_view::npos ? at : at - begin);
    if (word.starts_with(letters)) {
      return word.substr(letters.size());
    }
  }
  return {};
}

bool is_error(std::string_view line) {
  return line.starts_with("SERVER_ERROR") || line.starts_with("CLIENT_ERROR");
}

told told_by(std::string_view word) {
  if (word == "HD" || word == "VA" || word == "STORED" || word == "DELETED" || word == "TOUCHED" ||
      word == "VALUE") {
    return told::done;
  }
  if (word == "NF" || word == "EN" || word == "NOT_FOUND" || word == "END") {
    return told::missing;
  }
  if (word == "NS" || word == "NOT_STORED") {
    return told::not_stored;
  }
  return word == "EX" || word == "EXISTS" ? told::exists : told::unknown;
}

/// Whether a key lies at the beginning of the page, or behind it.
bool is_behind(std::string_view key, const StoreRequest& page) {
  const std::string_view near = page.paging.near;
  return near.empty() || (page.paging.included && key == near) || (page.backward ? key < near : key > near);
}

}  // namespace

void StoreReplies::expect(bool good, std::string_view text) {
  if (!good && nonsense_.empty()) {
    nonsense_ = text;
  }
}

bool StoreReplies::is_of(std::string_view received, const StoreRequest& quiet) {
  return flag(received.substr(0, received.find(kCrLf)), "O") == quiet.opaque;
}

std::size_t StoreReplies::read(std::string_view received, StoreRequest& request) {
  std::vector<std::string_view> lines;
  std::size_t bytes = 0;
  std::size_t answers = 0;  ///< lines that are no data
  for (bool whole = false; !whole;) {
    const std::size_t end = received.find(kCrLf, bytes);
    if (end == std::string_view::npos) {
      return 0;
    }
    lines.push_back(received.substr(bytes, end - bytes));
    bytes = end + kCrLf.size();
    const std::string_view last = lines.back();
    const bool is_data = lines.size() > 1 && (lines[lines.size() - 2].starts_with("VA ") ||
                                              lines[lines.size() - 2].starts_with("VALUE "));
    answers += is_data ? 0 : 1;
    switch (request.shape) {
      case reply_shape::classic_value:
        whole = last == "END" || is_error(last);
        break;
      case reply_shape::classic_page:
        whole = !is_data && (last == "END" || is_error(last));
        break;
      case reply_shape::line:
        whole = is_data || !last.starts_with("VA ");
        break;
      case reply_shape::meta_page:
        whole = !is_data && (last.starts_with("EN ") || is_error(last));
        break;
      case reply_shape::batch:
        whole = lines.front().starts_with("EX ") || is_error(lines.front()) ||
                (answers > request.op.lines.size() && !last.starts_with("VA "));
        break;
    }
  }
  Operation& op = request.op;
  if (is_error(lines.front()) || !request.recorded) {
    const bool too_many = lines.front().find("too many keys") != std::string_view::npos;
    const bool refused = too_many || lines.front().starts_with("SERVER_ERROR journal: ");
    expect(refused || lines.front().find("out of memory") != std::string_view::npos || !request.recorded,
           lines.front());
    op.end = refused ? ending::refused : ending::no_memory;
    return bytes;
  }
  op.end = ending::done;
  switch (op.what) {
    case operation::line:
      read_line(lines.front(), lines.size() > 1 ? lines[1] : std::string_view{}, op.lines.front());
      break;
    case operation::batch:
      read_batch(lines, request);
      break;
    case operation::page:
      if (request.shape == reply_shape::classic_page) {
        read_classic_page(lines, request);
      } else {
        read_page(lines, request);
      }
      break;
    default:
      read_range_line(lines.front(), op);
      break;
  }
  return bytes;
}

void StoreReplies::read_line(std::string_view line, std::string_view data, CommandLine& of) {
  const std::string_view word = line.substr(0, line.find(' '));
  of.reply = told_by(word);
  if (of.reply == told::unknown) {  // of incr and decr
    expect(!word.empty() && word.find_first_not_of("0123456789") == std::string_view::npos, line);
    of.reply = told::done;
    of.number = number_in(word);
    return;
  }
  if (of.reply != told::done) {
    return;
  }
  if (word == "VA" || word == "VALUE") {
    of.number = number_in(data);
  }
  const std::string_view cas = word != "VALUE" ? flag(line, "c")
                               : std::ranges::count(line, ' ') == kSpacesOfGets
                                   ? line.substr(line.rfind(' ') + 1)
                                   : std::string_view{};
  of.cas = number_in(cas);
  if (of.cas != 0 && of.key < keys_.last_cas.size()) {
    keys_.told(of.key, of.cas);
  }
}

void StoreReplies::read_batch(const std::vector<std::string_view>& lines, StoreRequest& request) {
  Operation& op = request.op;
  if (lines.front().starts_with("EX ")) {
    const std::string_view rest = lines.front().substr(3);
    const std::string_view why = rest.substr(std::min(rest.size(), rest.find(' ') + 1));
    const std::uint64_t line = number_in(rest);
    expect(lines.size() == 1 && line > 0 && line <= op.lines.size(), lines.front());
    if (why.starts_with("SERVER_ERROR journal: ")) {
      op.end = ending::refused;
      return;
    }
    if (why.starts_with("SERVER_ERROR out of memory")) {
      op.end = ending::no_memory;
      op.failed_line = line - 1;
      return;
    }
    op.end = ending::failed;
    op.failed_line = line - 1;
    op.lines[line - 1].reply = told_by(why);
    expect(op.lines[line - 1].reply != told::unknown || op.lines[line - 1].key == CommandLine::kOtherKey,
           lines.front());
    return;
  }
  std::size_t at = 0;
  for (CommandLine& line : op.lines) {
    const bool has_data = at < lines.size() && lines[at].starts_with("VA ");
    expect(at + (has_data ? 2 : 1) < lines.size(), lines.front());
    if (!nonsense_.empty()) {
      return;
    }
    if (line.key != CommandLine::kOtherKey) {
      read_line(lines[at], has_data ? lines[at + 1] : std::string_view{}, line);
    }
    at += has_data ? 2 : 1;
  }
  expect(at + 1 == lines.size(), lines.front());
}

void StoreReplies::read_shown(std::string_view key, std::uint64_t number, std::uint64_t cas,
                              std::string_view last, StoreRequest& request) {
  expect(last.empty() || (request.backward ? key < last : last < key), "a page is out of order");
  expect(is_behind(key, request), "a page shows a key outside of its range");
  const std::uint8_t index = keys_.index_of(key);
  if (index == CommandLine::kOtherKey) {
    return;
  }
  request.op.seen.push_back({index, number, cas});
  if (cas != 0) {
    keys_.told(index, cas);
  }
}

void StoreReplies::cut_off(std::string_view last, StoreRequest& request) const {
  Operation& op = request.op;
  const auto begin = keys_.names.begin();
  const auto at = request.backward ? std::lower_bound(begin, keys_.names.end(), last)
                                   : std::upper_bound(begin, keys_.names.end(), last);
  std::uint8_t& bound = request.backward ? op.first : op.last;
  bound = static_cast<std::uint8_t>(std::clamp<std::ptrdiff_t>(at - begin, op.first, op.last));
}

void StoreReplies::read_page(const std::vector<std::string_view>& lines, StoreRequest& request) {
  Operation& op = request.op;
  std::string_view last;
  for (std::size_t i = 0; i + 1 < lines.size(); i += 2) {
    const std::string_view key = flag(lines[i], "k");
    read_shown(key, number_in(lines[i + 1]), number_in(flag(lines[i], "c")), last, request);
    last = key;
  }
  if (request.backward) {
    std::reverse(op.seen.begin(), op.seen.end());
  }
  op.items = lines.size() / 2;
  const std::string_view end = lines.back();
  expect(number_in(flag(end, "A")) == op.items, end);
  if (request.paging.wanted) {
    request.paging.cursor = flag(end, "G");
    request.paging.near = last;
    expect(request.paging.cursor.empty() || request.paging.pages <= keys_.names.size() + keys_.others.size(),
           "a range has more pages than there are keys");
  }
  if (!flag(end, "G").empty()) {
    cut_off(last, request);
  }
}

void StoreReplies::read_classic_page(const std::vector<std::string_view>& lines, StoreRequest& request) {
  const bool has_cursor = lines.size() > 1 && lines[lines.size() - 2].starts_with("CURSOR ");
  const std::size_t items = (lines.size() - (has_cursor ? 2 : 1)) / 2;
  std::string_view last;
  for (std::size_t i = 0; i < items; ++i) {
    constexpr std::size_t kVerb = std::string_view{"VALUE "}.size();
    const std::string_view line = lines[2 * i];
    const std::string_view key = line.substr(kVerb, line.find(' ', kVerb) - kVerb);
    read_shown(key, number_in(lines[2 * i + 1]), 0, last, request);
    last = key;
  }
  request.op.items = items;
  expect(items <= request.limit, "a page shows more than it was asked for");
  if (has_cursor || items == request.limit) {
    cut_off(last, request);
  }
}

void StoreReplies::read_range_line(std::string_view line, Operation& op) {
  expect(line.starts_with("HD") || line == "OK", line);
  if (line == "OK") {
    return;
  }
  op.items = number_in(flag(line, "A"));
  if (op.what == operation::count) {
    op.numbers = number_in(flag(line, "N"));
    op.sum = number_in(flag(line, "Ms"));
  }
}

}  // namespace mxkv::simulation
