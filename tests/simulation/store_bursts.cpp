// Requests that a client sends at once, of which later ones depend on earlier ones; requests that make whole
// runs of neighbouring leaves empty, or fill them again; and ranges that are paged to their end.
#include <algorithm>
#include <utility>

#include "tests/simulation/store_requests.hpp"

namespace mxkv::simulation {

std::vector<StoreRequest> StoreRequests::draw_burst(std::uint64_t now_s) {
  std::vector<StoreRequest> all;
  if (options_.reads && one_in(3)) {
    add_reads(all);
    return all;
  }
  if (one_in(3)) {
    add_sets(all);
    return all;
  }
  const std::uint64_t kind = keys_.others.empty() ? 0 : random_.below(8);
  if (kind >= 6) {
    add_run(all, some_key(), now_s);
  } else if (kind >= 3) {
    const std::uint8_t key = some_key();
    add_run_removed(all, key);
    // The key itself: so that its leaf gets empty, and the next writes of it find nothing there.
    all.push_back(of_line({.what = act::remove, .key = key}, true));
    for (std::uint64_t lines = 2 + random_.below(3); lines > 0; --lines) {
      all.push_back(of_line(dependent_line(key, now_s), true));
    }
    return all;
  }
  add_dependent(all, now_s);
  return all;
}

// Of one key, or of two.
void StoreRequests::add_dependent(std::vector<StoreRequest>& all, std::uint64_t now_s) {
  const std::uint8_t key = some_key();
  const std::uint8_t second = one_in(3) ? some_key() : key;
  for (std::uint64_t lines = 2 + random_.below(5); lines > 0; --lines) {
    all.push_back(of_line(dependent_line(one_in(3) ? second : key, now_s), true));
  }
}

CommandLine StoreRequests::dependent_line(std::uint8_t key, std::uint64_t now_s) {
  constexpr std::array kActs{act::set,      act::set,      act::set,   act::remove,
                             act::remove,   act::remove,   act::get,   act::get,
                             act::count_up, act::append,   act::add,   act::replace,
                             act::append,   act::count_up, act::touch, act::count_down};
  CommandLine line{.what = kActs[random_.below(kActs.size())], .key = key};
  if (line.what == act::append && ++appends_[key] > kMostAppends) {
    line.what = act::get;
  }
  fill_in(line, now_s);
  if (line.what != act::touch && !one_in(4)) {
    line.expiry = 0;
  }
  if (line.what == act::set && keys_.last_cas[key] != 0 && one_in(4)) {
    line.compare = keys_.last_cas[key];
  }
  return line;
}

StoreRequest StoreRequests::of_line(const CommandLine& line, bool may_be_quiet) {
  StoreRequest request;
  const bool classic = (!line.compare || line.what == act::set) && one_in(2);
  const bool quiet = may_be_quiet && line.what != act::get && one_in(3);
  if (classic) {
    request.silent = quiet;
    request.text = classic_text(line, keys_, quiet ? " noreply" : "");
    request.shape = line.what == act::get ? reply_shape::classic_value : reply_shape::line;
  } else {
    // Where memory is short, the error reply has no opaque.
    if (quiet && options_.quiet && line.what != act::touch) {
      request.opaque = std::to_string(next_opaque_++);
    }
    request.text = meta_text(line, keys_, request.opaque.empty() ? "" : " q O" + request.opaque);
  }
  request.op.locked = line.what != act::get;
  request.op.lines.push_back(line);
  return request;
}

StoreRequest StoreRequests::other_request(std::string line, std::string_view value) {
  StoreRequest request{.text = std::move(line) + " noreply\r\n", .recorded = false, .silent = true};
  if (!value.empty()) {
    request.text += std::string{value} + "\r\n";
  }
  request.op.lines.push_back({});
  return request;
}

// Neighbours, and the keys between two keys, so that leaves are filled, or get empty, one beside the other.
void StoreRequests::add_run(std::vector<StoreRequest>& all, std::uint8_t key, std::uint64_t now_s) {
  const std::size_t of_each = keys_.others.size() / keys_.names.size();
  const std::size_t begin = key * of_each + random_.below(of_each);
  const std::size_t end = std::min(keys_.others.size(), begin + 1 + random_.below(24));
  const std::uint64_t expiry = options_.runs_expire && !one_in(4) ? now_s + 1 + random_.below(3) : 0;
  for (std::size_t i = begin; i < end; ++i) {
    all.push_back(other_request("set " + keys_.others[i] + " 0 " + std::to_string(expiry) + " 1", "x"));
  }
}

void StoreRequests::add_run_removed(std::vector<StoreRequest>& all, std::uint8_t key) {
  const std::size_t of_each = keys_.others.size() / keys_.names.size();
  if (one_in(4)) {
    StoreRequest request{.recorded = false};
    request.op.lines.push_back({});
    request.text = "mx " + keys_.names[key] + "1 p" + (one_in(2) ? " X" : "") + "\r\n";
    all.push_back(std::move(request));
    return;
  }
  const std::size_t middle = key * of_each;
  const std::size_t begin = middle - std::min<std::size_t>(middle, random_.below(12));
  const std::size_t end = std::min(keys_.others.size(), middle + random_.below(24));
  for (std::size_t i = begin; i < end; ++i) {
    all.push_back(other_request("delete " + keys_.others[i], {}));
  }
}

// Reads that start together: of one key, or of any where they are so many that their keys are not noted any
// more.
void StoreRequests::add_reads(std::vector<StoreRequest>& all) {
  const bool many = one_in(4);
  const std::uint8_t key = some_key();
  for (std::uint64_t left = many ? 45 : 2 + random_.below(10); left > 0; --left) {
    const CommandLine line{.what = act::get, .key = many ? some_key() : key};
    StoreRequest request{.text = "mg " + keys_.names[line.key] + " v\r\n"};
    request.op.locked = false;
    request.op.lines.push_back(line);
    all.push_back(std::move(request));
  }
}

// Sets that start together: of one key with a history, or of others where they are so many that their keys are not
// noted any more. Some keys come twice.
void StoreRequests::add_sets(std::vector<StoreRequest>& all) {
  const bool many = !keys_.others.empty() && one_in(2);
  const std::uint8_t key = some_key();
  for (std::uint64_t left = many ? 40 + random_.below(20) : 4 + random_.below(4); left > 0; --left) {
    StoreRequest request{.recorded = !many};
    if (many) {
      request.text = "ms " + some_other() + " 1\r\nx\r\n";
      request.op.lines.push_back({});
    } else {
      CommandLine line{.what = act::set, .key = key, .operand = 10'000 * next_number_++};
      request.text = classic_text(line, keys_);
      request.op.lines.push_back(line);
    }
    all.push_back(std::move(request));
  }
}

// From some key on, in either direction, without a far bound.
StoreRequest StoreRequests::draw_open_page() {
  StoreRequest request{.shape = reply_shape::meta_page};
  request.backward = one_in(2);
  Operation& op = request.op;
  op.what = operation::page;
  op.others = !keys_.others.empty();
  op.locked = !one_in(4);
  Paging& paging = request.paging;
  paging.wanted = true;
  paging.included = !one_in(4);
  paging.near = keys_.others.empty() || one_in(3) ? keys_.names[some_key()] : some_other();
  paging.flags = " v c A" + std::to_string(1 + random_.below(one_in(2) ? 4 : 40)) + (op.locked ? " X" : "");
  const auto names = keys_.names.begin();
  const bool upper = paging.included == request.backward;
  const auto at = upper ? std::upper_bound(names, keys_.names.end(), paging.near)
                        : std::lower_bound(names, keys_.names.end(), paging.near);
  op.first = request.backward ? 0 : static_cast<std::uint8_t>(at - names);
  op.last = static_cast<std::uint8_t>(request.backward ? at - names : keys_.names.end() - names);
  paging.last = op.last;
  request.text = "mr " + paging.near + (paging.included ? "" : " o") + (request.backward ? " r" : "") +
                 paging.flags + "\r\n";
  return request;
}

StoreRequest StoreRequests::next_page(const StoreRequest& page) {
  StoreRequest next{.shape = page.shape, .backward = page.backward};
  next.paging = page.paging;
  next.paging.cursor.clear();
  next.paging.included = false;
  ++next.paging.pages;
  next.op.what = operation::page;
  next.op.others = page.op.others;
  next.op.locked = page.op.locked;
  next.op.first = page.backward ? 0 : page.op.last;
  next.op.last = page.backward ? page.op.first : page.paging.last;
  next.text = "mr - G" + page.paging.cursor + page.paging.flags + "\r\n";
  return next;
}

}  // namespace mxkv::simulation
