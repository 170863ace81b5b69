#include "tests/fuzz/reply_shapes.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>

#include "protocol/reply.hpp"
#include "tests/fuzz/reply_reader.hpp"

namespace mxkv::fuzz {
namespace {

using protocol::verb;

/// VALUE lines and their data, each for one of the keys, in their order.
void retrieval(Reader& in, const Owed& owed) {
  std::string_view keys = owed.keys;
  const std::size_t fields = owed.op == verb::gets || owed.op == verb::gats ? 5 : 4;
  if (owed.key_count == 1 && in.takes(protocol::kOutOfMemory)) {
    in.require(owed.op == verb::gat || owed.op == verb::gats);  // there was no room for its new time
    return;
  }
  while (in.good() && in.next_is("VALUE ")) {
    const auto words = words_of(in.line());
    if (!in.require(words.size() == fields && number_of(words[2]) && number_of(words[3]) &&
                    (fields == 4 || number_of(words[4])))) {
      return;
    }
    std::string_view key = protocol::next_key(keys);
    while (!key.empty() && key != words[1]) {
      key = protocol::next_key(keys);
    }
    in.require(!key.empty());
    in.block(*number_of(words[3]));
  }
  in.require(in.takes(protocol::kEnd));
}

/// Keys of a range come in strict order.
class KeyOrder {
 public:
  explicit KeyOrder(bool reverse) : reverse_(reverse) {}
  bool takes(std::string key) {
    const bool in_order = !last_ || (reverse_ ? key < *last_ : key > *last_);
    last_ = std::move(key);
    return in_order;
  }

 private:
  bool reverse_;
  std::optional<std::string> last_;
};

void classic_range(Reader& in, const Owed& owed) {
  KeyOrder order{owed.reverse};
  while (in.good() && (in.next_is("VALUE ") || in.next_is("KEY "))) {
    const auto words = words_of(in.line());
    const std::size_t fields = owed.keys_only ? 2 : owed.with_cas ? 5 : 4;
    if (!in.require(words.size() == fields && (words[0] == "KEY") == owed.keys_only)) {
      return;
    }
    const std::optional<std::string> key = owed.base64 ? decoded(words[1]) : std::string{words[1]};
    in.require(key && order.takes(*key));
    if (!owed.keys_only && in.require(number_of(words[2]) && number_of(words[3]))) {
      in.block(*number_of(words[3]));
    }
  }
  if (in.takes(protocol::kBinaryKey)) {
    return;
  }
  if (in.takes("CURSOR ")) {
    in.require(!in.line().empty());
  }
  in.require(in.takes(protocol::kEnd));
}

/// The flags behind a meta code: those asked for that `shows` has, in their order; k and O with what was
/// sent. Returns the key, if it is told.
std::optional<std::string> meta_flags(Reader& in, const Owed& owed, std::vector<std::string_view> words,
                                      std::string_view shows, std::string_view marks) {
  std::optional<std::string> key;
  std::string_view wants = owed.meta.wants();
  for (std::size_t i = 0; i < words.size() && in.good(); ++i) {
    const std::string_view word = words[i];
    if (!in.require(!word.empty())) {
      break;
    }
    const std::string_view token = word.substr(1);
    if (token.empty() && marks.find(word[0]) != std::string_view::npos) {
      continue;
    }
    const std::size_t place = wants.find(word[0]);
    if (!in.require(place != std::string_view::npos && shows.find(word[0]) != std::string_view::npos)) {
      break;
    }
    wants.remove_prefix(place + 1);
    if (word[0] == 'O') {
      in.require(token == owed.meta.opaque());
    } else if (word[0] == 'k') {
      const bool binary = i + 1 < words.size() && words[i + 1] == "b";
      key = binary ? decoded(token) : std::string{token};
      in.require(key == owed.key);
      i += binary ? 1 : 0;
    } else {
      in.require(number_of(token) || (word[0] == 't' && token == "-1"));
    }
  }
  return key;
}

void meta(Reader& in, const Owed& owed) {
  if (in.takes_any({protocol::kNonNumeric, protocol::kOutOfMemory, protocol::kTooLarge})) {
    return;
  }
  auto words = words_of(in.line());
  if (!in.good()) {
    return;
  }
  const std::string_view code = words.front();
  words.erase(words.begin());
  if (code == "VA") {
    const bool has_size = !words.empty() && number_of(words.front()).has_value();
    if (!in.require(has_size && (owed.op == verb::meta_get || owed.op == verb::meta_arithmetic))) {
      return;
    }
    in.block(*number_of(words.front()));
    words.erase(words.begin());
  } else {
    const bool known = owed.op == verb::meta_get
                           ? code == "HD" || code == "EN"
                           : code == "HD" || code == "NF" || code == "NS" || code == "EX";
    in.require(known);
  }
  const bool got = owed.op == verb::meta_get;
  meta_flags(in, owed, words, got ? "Okcfhlst" : "Okcst", got ? "WXZ" : "");
}

void meta_debug(Reader& in) {
  if (!in.takes(protocol::kMetaMiss)) {
    in.require(in.line().starts_with("ME "));
  }
}

/// One item of mr: its key first, then what was asked for.
void meta_item(Reader& in, const Owed& owed, KeyOrder& order) {
  auto words = words_of(in.line());
  const bool value = words.front() == "VA";
  const std::size_t first = value ? 2 : 1;
  if (!in.require(value == owed.meta.value && words.size() > first && words[first].starts_with('k'))) {
    return;
  }
  if (value && in.require(number_of(words[1]).has_value())) {
    in.block(*number_of(words[1]));
  }
  const bool binary = words.size() > first + 1 && words[first + 1] == "b";
  const std::optional<std::string> key =
      binary ? decoded(words[first].substr(1)) : std::string{words[first].substr(1)};
  in.require(key && order.takes(*key));
  words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(first) + (binary ? 2 : 1));
  meta_flags(in, owed, words, "Ocfhlst", "XZ");
}

/// `word` and as many fields A B K G O ~ N M as there may be; the first is A. Returns its number.
std::optional<std::uint64_t> total_line(Reader& in, const Owed& owed, std::string_view word) {
  const auto words = words_of(in.line());
  if (!in.require(words.size() > 1 && words[0] == word && words[1].starts_with('A'))) {
    return std::nullopt;
  }
  for (const std::string_view field : words) {
    in.require(!field.starts_with('O') || field.substr(1) == owed.meta.opaque());
    in.require(!owed.locked || field != "~");  // nothing is guessed at one point in time
  }
  return number_of(words[1].substr(1));
}

/// Where a reply of mr may end: with EN, or silently when it is quiet, behind any of its items, since what
/// follows may look like one.
void meta_range(Reader in, const Owed& owed, std::vector<std::size_t>& ends) {
  KeyOrder order{owed.reverse};
  for (std::uint64_t items = 0; in.good(); ++items) {
    if (owed.meta.quiet) {
      ends.push_back(in.at());
    }
    if (in.next_is("EN ")) {
      if (total_line(in, owed, "EN") == items && in.good()) {
        ends.push_back(in.at());
      }
      return;
    }
    meta_item(in, owed, order);
  }
}

void meta_count(Reader& in, const Owed& owed) {
  if (!owed.by_delimiter) {
    total_line(in, owed, "HD");
    return;
  }
  std::uint64_t groups = 0;
  while (in.good() && in.next_is("HD k")) {
    ++groups;
    in.line();
  }
  in.require(total_line(in, owed, "EN") == groups);
}

/// What changed a range: HD A<keys> [O<opaque>]; a cursor only where it went page by page.
void changed_range(Reader& in, const Owed& owed) {
  if (owed.locked && in.takes_any({protocol::kTooManyKeys, protocol::kOutOfMemory})) {
    return;
  }
  Reader line = in;
  const auto words = words_of(line.line());
  for (const std::string_view field : words) {
    in.require(!owed.locked || !field.starts_with('G'));
  }
  in.require(total_line(in, owed, "HD").has_value());
}

/// Lines that begin in one way; `bare`: they end in LF alone.
void dump(Reader& in, std::string_view begin, bool bare, std::string_view end) {
  while (in.good() && in.next_is(begin)) {
    in.line(bare);
  }
  in.require(in.takes(end));
}

void one_reply(Reader& in, const Owed& owed) {
  switch (owed.op) {
    case verb::get:
    case verb::gets:
    case verb::gat:
    case verb::gats:
      return retrieval(in, owed);
    case verb::set:
      in.require(in.takes_any({protocol::kStored, protocol::kOutOfMemory}));
      return;
    case verb::cas:
      in.require(
          in.takes_any({protocol::kStored, protocol::kExists, protocol::kNotFound, protocol::kOutOfMemory}));
      return;
    case verb::add:
    case verb::replace:
    case verb::append:
    case verb::prepend:
      in.require(in.takes_any(
          {protocol::kStored, protocol::kNotStored, protocol::kTooLarge, protocol::kOutOfMemory}));
      return;
    case verb::incr:
    case verb::decr:
      if (!in.takes_any({protocol::kNotFound, protocol::kNonNumeric, protocol::kOutOfMemory})) {
        in.require(number_of(in.line()).has_value());
      }
      return;
    case verb::touch:
      in.require(in.takes_any({protocol::kTouched, protocol::kNotFound, protocol::kOutOfMemory}));
      return;
    case verb::remove:
      in.require(in.takes_any({protocol::kDeleted, protocol::kNotFound}));
      return;
    case verb::flush_all:
      in.require(in.takes_any({protocol::kOk, protocol::kOutOfMemory}));
      return;
    case verb::scan:
    case verb::scans:
    case verb::pscan:
    case verb::pscans:
      return classic_range(in, owed);
    case verb::meta_count:
      return meta_count(in, owed);
    case verb::meta_range_delete:
    case verb::meta_range_touch:
      return changed_range(in, owed);
    case verb::metadump:
      return dump(in, "key=", true, protocol::kEnd);
    case verb::mgdump:
      return dump(in, "mg ", false, protocol::kMetaMiss);
    case verb::cachedump:
      return dump(in, "ITEM ", false, protocol::kEnd);
    case verb::meta_debug:
      return meta_debug(in);
    default:
      return meta(in, owed);
  }
}

/// Where the reply may end that begins at `at`.
std::vector<std::size_t> ends_of(const Owed& owed, std::string_view replies, std::size_t at) {
  std::vector<std::size_t> ends;
  Reader in{replies, at};
  if (owed.how != Owed::form::shaped) {
    const bool unseen = owed.how == Owed::form::bad_block && in.takes(protocol::kOutOfMemory);
    if (unseen || in.takes(owed.text)) {
      ends.push_back(owed.how == Owed::form::stream ? replies.size() : in.at());
    }
    return ends;
  }
  if (owed.locked && in.takes(protocol::kNotServed)) {
    ends.push_back(in.at());
    return ends;
  }
  if (owed.op == verb::meta_range) {
    meta_range(in, owed, ends);
    return ends;
  }
  if (owed.meta.quiet) {
    ends.push_back(at);
  }
  one_reply(in, owed);
  if (in.good()) {
    ends.push_back(in.at());
  }
  return ends;
}

}  // namespace

std::string settle(const std::vector<Owed>& owed, std::string_view replies) {
  std::set<std::size_t> places{0};
  for (const Owed& one : owed) {
    std::set<std::size_t> next;
    for (const std::size_t at : places) {
      for (const std::size_t end : ends_of(one, replies, at)) {
        next.insert(end);
      }
    }
    if (next.empty()) {
      return "no reply to request " + std::to_string(&one - owed.data()) + " (verb " +
             std::to_string(static_cast<int>(one.op)) + " " + one.key + one.text + ") at byte " +
             std::to_string(*places.rbegin()) + " of\n" + std::string{replies};
    }
    places = std::move(next);
  }
  return places.contains(replies.size())
             ? std::string{}
             : "more than is owed, from byte " + std::to_string(*places.rbegin()) + " of\n" +
                   std::string{replies};
}

}  // namespace mxkv::fuzz
