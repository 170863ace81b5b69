#include "tests/fuzz/reply_shapes.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>

#include "protocol/reply.hpp"
#include "tests/fuzz/range_shapes.hpp"
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
    case verb::meta_watch:
      in.require(in.takes(protocol::kNoWatches));
      return;
    case verb::meta_unwatch:
      in.require(in.takes("NF\r\n"));
      return;
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

using Places = std::set<std::size_t>;

Places places_behind(const std::vector<Owed>& owed, std::string_view replies, std::size_t at);

/// A reply to one line of a batch that undoes the batch.
bool undoes(const Owed& line, Reader& in) {
  if (in.takes_any({protocol::kNonNumeric, protocol::kOutOfMemory, protocol::kTooLarge})) {
    return true;
  }
  const bool failed = in.next_is("NF") || in.next_is("NS") || in.next_is("EX");
  meta(in, line);
  return failed && in.good();
}

/// All lines and HD, or EX with the number of a line and its reply. There may be no memory for a value before
/// the bad line comes.
Places batch_ends(const Owed& owed, std::string_view replies, std::size_t at) {
  Reader in{replies, at};
  if (!in.takes("EX ")) {
    Places ends;
    for (const std::size_t end : owed.bad_line == 0 ? places_behind(owed.lines, replies, at) : Places{}) {
      if (Reader done{replies, end}; done.takes(protocol::kMetaDone)) {
        ends.insert(done.at());
      }
    }
    return ends;
  }
  const std::size_t digits = replies.find_first_not_of("0123456789", in.at()) - in.at();
  const std::optional<std::uint64_t> number = number_of(replies.substr(in.at(), digits));
  in = Reader{replies, in.at() + digits};
  if (!number || !in.takes(" ")) {
    return {};
  }
  if (owed.bad_line != 0) {
    const bool told = (number == owed.bad_line && in.takes(owed.text)) ||
                      (number <= owed.bad_line && in.takes(protocol::kOutOfMemory));
    return told ? Places{in.at()} : Places{};
  }
  const bool known = *number >= 1 && *number <= owed.lines.size();
  return known && undoes(owed.lines[*number - 1], in) ? Places{in.at()} : Places{};
}

/// The places where the reply that begins at `at` may end.
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
  if (owed.op == verb::meta_batch) {
    const Places places = batch_ends(owed, replies, at);
    return {places.begin(), places.end()};
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

/// The places where replies to all of these may end.
Places places_behind(const std::vector<Owed>& owed, std::string_view replies, std::size_t at) {
  Places places{at};
  for (const Owed& one : owed) {
    Places next;
    for (const std::size_t place : places) {
      const std::vector<std::size_t> ends = ends_of(one, replies, place);
      next.insert(ends.begin(), ends.end());
    }
    places = std::move(next);
  }
  return places;
}

}  // namespace

std::string settle(const std::vector<Owed>& owed, std::string_view replies, bool may_refuse) {
  const std::size_t refused_at = may_refuse && replies.ends_with(protocol::kNoInputMemory)
                                     ? replies.size() - protocol::kNoInputMemory.size()
                                     : std::string_view::npos;
  Places places{0};
  for (const Owed& one : owed) {
    if (places.contains(refused_at)) {
      return {};
    }
    Places next;
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
  return places.contains(replies.size()) || places.contains(refused_at)
             ? std::string{}
             : "more than is owed, from byte " + std::to_string(*places.rbegin()) + " of\n" +
                   std::string{replies};
}

}  // namespace mxkv::fuzz
