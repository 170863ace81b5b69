#include "server/store/point/meta_reply.hpp"

#include "protocol/reply_codes.hpp"
#include "server/store/item/expiry.hpp"
#include "server/store/item/value_reply.hpp"

namespace mxkv::server {

using protocol::point_action;
using protocol::reply_code;
using protocol::row_of;
using protocol::write_number;
using protocol::write_text;

namespace {

/// One reply. It refers to data that is safe to read.
struct MetaAnswer {
  reply_code code;
  std::string_view shows;  ///< flags that this command answers
  std::string_view key;
  bool binary_key = false;     ///< the key goes out in base64
  const Item* item = nullptr;  ///< for f, and for the data block of `value` unless there is a number
  std::uint64_t size = 0;
  std::uint64_t cas = 0;
  std::string_view number{};  ///< ma: the data block of `value`
};

// Bytes of the line: code, size, and each flag once with the longest token.
constexpr std::size_t kMostBase64Bytes = 4 * ((protocol::kMaxKeyBytes + 2) / 3);
static_assert(kMostMetaLineBytes >
              kMostBase64Bytes + protocol::MetaFlags::kMostOpaqueBytes + std::size_t{10} * 24);

char* write_key(char* out, std::string_view key, bool binary) noexcept {
  return binary ? protocol::write_base64(out, key) : write_text(out, key);
}

/// Writes the seconds left, "-1" for an item that never expires.
char* write_ttl(char* out, std::uint32_t expiry, std::uint64_t now_us) noexcept {
  if (expiry == 0) {
    return write_text(out, "-1");
  }
  const std::uint64_t now = now_us / 1'000'000;
  return write_number(out, expiry > now ? expiry - now : 0);
}

// Right behind a flush_all the orders of new items, from which the access is computed, are some hundredths
// of a second ahead of the clock.
std::uint64_t seconds_since(std::uint64_t then_us, std::uint64_t now_us) noexcept {
  constexpr std::uint64_t kAheadUs = 100'000;
  return now_us + kAheadUs > then_us ? (now_us + kAheadUs - then_us) / kUsPerSecond : 0;
}

/// Writes the flags in the order sent: T and N change what a later t shows.
char* write_flags(char* out, const MetaAnswer& answer, const protocol::MetaFlags& flags,
                  const MetaFindings& findings, std::uint64_t now_us) noexcept {
  std::uint32_t expiry = findings.expiry;
  for (const char letter : flags.wants()) {
    if (letter == 'T') {
      expiry = findings.touched_expiry;
    } else if (letter == 'N' && findings.made) {
      expiry = findings.made_expiry;
    }
    if (answer.shows.find(letter) == std::string_view::npos) {
      continue;
    }
    *out++ = ' ';
    *out++ = letter;
    switch (letter) {
      case 'O':
        out = write_text(out, flags.opaque());
        break;
      case 'k':
        out = write_key(out, answer.key, answer.binary_key);
        out = write_text(out, answer.binary_key ? " b" : "");
        break;
      case 'c':
        out = write_number(out, answer.cas);
        break;
      case 'f':
        out = write_number(out, answer.item == nullptr ? 0 : answer.item->flags());
        break;
      case 'h':
        *out++ = findings.accessed ? '1' : '0';
        break;
      case 'l':
        out = write_number(out, seconds_since(findings.last_access_us, now_us));
        break;
      case 's':
        out = write_number(out, answer.size);
        break;
      default:  // t
        out = write_ttl(out, expiry, now_us);
        break;
    }
  }
  return out;
}

void write_answer(ReplyQueue& queue, std::uint32_t ticket, const MetaAnswer& answer,
                  const protocol::MetaFlags& flags, const MetaFindings& findings, runtime::Worker& worker) {
  char* out = queue.reserve(ticket, kMostMetaLineBytes);
  out = write_text(out, row_of(answer.code).meta);
  if (answer.code == reply_code::value) {
    *out++ = ' ';
    out = write_number(out, answer.number.empty() ? answer.size : answer.number.size());
  }
  out = write_flags(out, answer, flags, findings, worker.now_us());
  if (answer.code == reply_code::value || answer.code == reply_code::done) {
    out = write_text(out, findings.sent ? " Z" : "");
    out = write_text(out, findings.stale ? " X" : "");
    out = write_text(out, findings.won ? " W" : "");
  }
  out = write_text(out, protocol::kCrLf);
  if (!answer.number.empty() && answer.code == reply_code::value) {
    out = write_text(write_text(out, answer.number), protocol::kCrLf);
  }
  queue.commit(ticket, out);
  if (answer.number.empty() && answer.code == reply_code::value) {
    write_data(queue, ticket, *answer.item, protocol::kCrLf, worker);
  }
}

/// For an mg that found its item.
MetaAnswer answer_of_get(const Item& item, const protocol::MetaFlags& flags) noexcept {
  const std::uint64_t cas = item.cas();
  const bool same = flags.has_compare && flags.compare == cas;
  return {.code = flags.value && !same ? reply_code::value : reply_code::done,
          .shows = "Okcfhlst",
          .key = item.key(),
          .binary_key = item.marked(Item::kBinary),
          .item = &item,
          .size = item.value_bytes(),
          .cas = cas};
}

reply_code code_of(const PointOutcome& outcome) noexcept {
  switch (outcome.result) {
    case point_result::exists:
    case point_result::not_stored:
      return outcome.result;
    case point_result::not_found:
      return outcome.request.terms.action == point_action::read ? reply_code::miss : outcome.result;
    default:
      return reply_code::done;
  }
}

}  // namespace

MetaFindings MetaFindings::of(const Item& item) noexcept {
  MetaFindings findings;
  findings.order = item.order();
  findings.last_access_us = item.last_access_us();
  findings.expiry = item.expiry();
  findings.accessed = item.accessed();
  findings.stale = item.marked(Item::kStale);
  findings.sent = item.marked(Item::kWon);
  return findings;
}

char* write_meta_item_line(char* out, const Item::View& item, const protocol::MetaFlags& flags,
                           std::uint64_t now_us) noexcept {
  const std::string_view key = item.key();
  const bool binary = item.item().marked(Item::kBinary) || !protocol::is_printable_key(key);
  const MetaFindings findings = MetaFindings::of(item.item());
  const MetaAnswer answer{.code = flags.value ? reply_code::value : reply_code::done,
                          .shows = "Ocfhlst",
                          .key = key,
                          .item = &item.item(),
                          .size = item.value_bytes(),
                          .cas = item.item().cas()};
  out = write_text(out, row_of(answer.code).meta);
  if (flags.value) {
    *out++ = ' ';
    out = write_number(out, answer.size);
  }
  out = write_key(write_text(out, " k"), key, binary);
  out = write_text(out, binary ? " b" : "");
  out = write_flags(out, answer, flags, findings, now_us);
  out = write_text(out, findings.sent ? " Z" : "");
  out = write_text(out, findings.stale ? " X" : "");
  return write_text(out, protocol::kCrLf);
}

char* end_meta_line(char* out, const protocol::MetaFlags& flags) noexcept {
  if (flags.wants().find('O') != std::string_view::npos) {
    out = write_text(write_text(out, " O"), flags.opaque());
  }
  return write_text(out, protocol::kCrLf);
}

void write_meta_reply(ReplyQueue& queue, std::uint32_t ticket, const PointOutcome& outcome,
                      runtime::Worker& worker) {
  const protocol::PointRequest& request = outcome.request;
  const protocol::MetaFlags& flags = *request.flags;
  const bool reads = request.terms.action == point_action::read;
  if (reads && outcome.result == point_result::value) [[likely]] {
    write_answer(queue, ticket, answer_of_get(*outcome.shown, flags), flags, *outcome.findings, worker);
    return;
  }
  const reply_code code = code_of(outcome);
  const bool good = code == reply_code::done;
  if (flags.quiet && (reads || good)) {
    return;
  }
  MetaAnswer answer{.code = code, .shows = "Ok", .key = request.key, .binary_key = flags.binary_key};
  MetaFindings findings;  // W, X and Z are mg's alone
  char text[protocol::kMaxDigits];
  if (request.terms.action == point_action::store) {
    answer.shows = "Okcs";
    answer.size = (good ? outcome.shown : outcome.sent)->value_bytes();
    answer.cas = good ? outcome.shown->cas() : 0;
  } else if (request.terms.action == point_action::count && good) {
    const char* const end = write_number(text, outcome.number);
    answer.code = flags.value ? reply_code::value : reply_code::done;
    answer.shows = "Okct";
    answer.cas = outcome.shown->cas();
    answer.number = {text, static_cast<std::size_t>(end - text)};
    findings = *outcome.findings;
    findings.stale = findings.sent = findings.won = false;
  }
  write_answer(queue, ticket, answer, flags, findings, worker);
}

void write_meta_debug(ReplyQueue& queue, std::uint32_t ticket, const Item& item, runtime::Worker& worker) {
  const std::uint64_t now_us = worker.now_us();
  char* out = queue.reserve(ticket, kMostMetaLineBytes);
  out = write_text(out, "ME ");
  out = write_key(out, item.key(), item.marked(Item::kBinary));
  out = write_ttl(write_text(out, " exp="), item.expiry(), now_us);
  out = write_number(write_text(out, " la="), seconds_since(item.last_access_us(), now_us));
  out = write_number(write_text(out, " cas="), item.cas());
  out = write_text(write_text(out, " fetch="), item.accessed() ? "yes" : "no");
  // mxkv has no slab classes, but exporters and tools expect the field.
  out = write_number(write_text(out, " cls=1 size="), item.memory_bytes());
  queue.commit(ticket, write_text(out, protocol::kCrLf));
}

}  // namespace mxkv::server
