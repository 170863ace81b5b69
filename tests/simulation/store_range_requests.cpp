// Ranges of all kinds, locked and not.
#include <algorithm>
#include <utility>

#include "tests/simulation/store_requests.hpp"

namespace mxkv::simulation {

// From `-` with or without a far bound, or from key to key, both as walked.
StoreRequests::Span StoreRequests::some_span(bool backward) {
  if (options_.bank || one_in(3)) {
    return whole_span(backward, one_in(2));
  }
  std::uint8_t low = some_key();
  std::uint8_t high = one_in(3) ? low : some_key();
  if (high < low) {
    std::swap(low, high);
  }
  const bool far_included = one_in(2);
  const bool near_included = !one_in(4);
  const bool low_included = backward ? far_included : near_included;
  const bool high_included = backward ? near_included : far_included;
  Span span{static_cast<std::uint8_t>(low + (low_included ? 0 : 1)),
            static_cast<std::uint8_t>(high + (high_included ? 1 : 0)),
            {}};
  span.last = std::max(span.first, span.last);
  span.text = keys_.names[backward ? high : low] + " H" + keys_.names[backward ? low : high] +
              (far_included ? " i" : "") + (near_included ? "" : " o") + (backward ? " r" : "");
  return span;
}

StoreRequests::Span StoreRequests::whole_span(bool backward, bool bounded) const {
  const std::string far = bounded ? (backward ? " H!" : " H~") : "";
  return {0, static_cast<std::uint8_t>(keys_.names.size()), "-" + far + (backward ? " r" : "")};
}

StoreRequest StoreRequests::draw_range(std::uint64_t now_s) {
  StoreRequest request;
  Operation& op = request.op;
  op.others = !keys_.others.empty();
  const bool erases = options_.erases && !options_.bank && one_in(2);
  const std::uint64_t kind = erases ? 5 + random_.below(2) : random_.below(options_.bank ? 5 : 7);
  if (kind >= 2 && kind < 5) {
    if (one_in(4)) {
      draw_scan(request);
    } else {
      draw_page(request);
    }
    return request;
  }
  const Span span = some_span(false);
  op.first = span.first;
  op.last = span.last;
  const bool limited = one_in(4);
  const std::string limit = limited ? " A" + std::to_string(1 + random_.below(6)) : "";
  switch (kind) {
    case 0:
      op.what = operation::count;
      request.text = "mc " + span.text + " X Ms\r\n";
      break;
    case 1:
      op.what = operation::touch;
      op.expiry = options_.bank ? static_cast<std::uint32_t>(now_s) + kFarSeconds : some_expiry(now_s);
      request.text = "mt " + span.text + " T" + std::to_string(op.expiry) + limit + "\r\n";
      break;
    case 5:
      op.what = operation::erase;
      request.text = "mx " + span.text + " X" + limit + "\r\n";
      break;
    default:
      op.what = operation::erase;
      op.locked = false;
      op.partial = limited;
      request.text = "mx " + span.text + limit + "\r\n";
      break;
  }
  return request;
}

// Of a few items, of as many as some slots hold, or of all.
void StoreRequests::draw_page(StoreRequest& request) {
  Operation& op = request.op;
  request.shape = reply_shape::meta_page;
  request.backward = one_in(3);
  const bool unbounded = one_in(3);  // such a page may hold less than its range
  const Span span = unbounded ? whole_span(request.backward, false) : some_span(request.backward);
  op.what = operation::page;
  op.first = span.first;
  op.last = span.last;
  op.locked = !one_in(4);
  request.text = "mr " + span.text + " v c";
  if (unbounded || one_in(2)) {
    request.text += " A" + std::to_string(1 + random_.below(one_in(2) ? 6 : 150));
  }
  request.text += op.locked ? " X\r\n" : "\r\n";
}

// From a key on, as the classic command has it: without cas values, and never held.
void StoreRequests::draw_scan(StoreRequest& request) {
  Operation& op = request.op;
  request.shape = reply_shape::classic_page;
  request.limit = 1 + random_.below(one_in(2) ? 6 : 150);
  op.what = operation::page;
  op.locked = false;
  op.first = one_in(2) ? std::uint8_t{0} : some_key();
  op.last = static_cast<std::uint8_t>(keys_.names.size());
  request.paging.near = keys_.names[op.first];
  request.paging.included = true;
  request.text = "scan " + request.paging.near + " " + std::to_string(request.limit) + "\r\n";
}

StoreRequest StoreRequests::draw_flush() {
  StoreRequest request{.text = "flush_all\r\n"};
  request.op.what = operation::erase;
  request.op.last = static_cast<std::uint8_t>(keys_.names.size());
  request.op.others = true;
  request.op.items = kMostHistoryKeys;  // it does not say
  return request;
}

}  // namespace mxkv::simulation
