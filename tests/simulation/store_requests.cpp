#include "tests/simulation/store_requests.hpp"

#include <algorithm>
#include <utility>

namespace mxkv::simulation {

namespace {

std::string with_value(std::string line, std::uint64_t number) {
  return std::move(line) + "\r\n" + std::to_string(number) + "\r\n";
}

}  // namespace

std::string meta_text(const CommandLine& line, const StoreKeys& keys, const std::string& more) {
  const std::string& key = keys.names[line.key];
  std::string flags = more;
  if (line.compare) {
    flags += " C" + std::to_string(*line.compare);
  }
  switch (line.what) {
    case act::get:
      return "mg " + key + (line.operand == 0 ? " v c" : " v") + flags + "\r\n";
    case act::touch:
      return "mg " + key + " v c T" + std::to_string(line.expiry) + flags + "\r\n";
    case act::remove:
      return "md " + key + flags + "\r\n";
    case act::count_up:
    case act::count_down:
      return "ma " + key + " v c D" + std::to_string(line.operand) +
             (line.what == act::count_down ? " MD" : "") + flags + "\r\n";
    case act::add:
      flags += " ME";
      break;
    case act::replace:
      flags += " MR";
      break;
    case act::append:
      return with_value("ms " + key + " 1 c MA" + flags, line.operand);
    case act::set:
      break;
  }
  return with_value("ms " + key + " " + std::to_string(std::to_string(line.operand).size()) + " c T" +
                        std::to_string(line.expiry) + flags,
                    line.operand);
}

std::string classic_text(const CommandLine& line, const StoreKeys& keys, const std::string& more) {
  const std::string& key = keys.names[line.key];
  const auto storage = [&](std::string_view verb) {
    std::string text = std::string{verb} + " " + key + " 0 " + std::to_string(line.expiry) + " " +
                       std::to_string(std::to_string(line.operand).size());
    if (line.compare) {
      text += " " + std::to_string(*line.compare);
    }
    return with_value(text + more, line.operand);
  };
  switch (line.what) {
    case act::get:
      return (line.operand == 0 ? "gets " : "get ") + key + "\r\n";
    case act::touch:
      return "touch " + key + " " + std::to_string(line.expiry) + more + "\r\n";
    case act::set:
      return storage(line.compare ? "cas" : "set");
    case act::add:
      return storage("add");
    case act::replace:
      return storage("replace");
    case act::append:
      return storage("append");
    case act::remove:
      return "delete " + key + more + "\r\n";
    case act::count_up:
      return "incr " + key + " " + std::to_string(line.operand) + more + "\r\n";
    case act::count_down:
      return "decr " + key + " " + std::to_string(line.operand) + more + "\r\n";
  }
  return {};
}

std::vector<StoreRequest> StoreRequests::first_requests() {
  std::vector<StoreRequest> all;
  const auto add = [&all](const std::string& line, std::string_view value, std::string_view flags) {
    StoreRequest request;
    request.text = "ms " + line + " " + std::to_string(value.size()) + std::string{flags} + "\r\n" +
                   std::string{value} + "\r\n";
    request.recorded = false;
    request.op.lines.push_back({});
    all.push_back(std::move(request));
  };
  for (const std::string& key : keys_.names) {
    add(key, std::to_string(keys_.begin_number), "");
  }
  for (const std::string& other : keys_.others) {
    add(other, "x", options_.runs_expire ? " T20" : "");
  }
  return all;
}

StoreRequest StoreRequests::last_request() {
  StoreRequest request{.text = "mr - H~ v c X\r\n", .shape = reply_shape::meta_page};
  request.op.what = operation::page;
  request.op.last = static_cast<std::uint8_t>(keys_.names.size());
  return request;
}

StoreRequest StoreRequests::draw(std::uint64_t now_s) {
  if (options_.pages && one_in(6)) {
    return draw_open_page();
  }
  if (!keys_.others.empty() && one_in(4)) {
    return draw_other();
  }
  if (options_.flushes && one_in(12)) {
    return draw_flush();
  }
  if (random_.below(8) < options_.operations_in_8) {
    if (one_in(2)) {
      return options_.bank ? draw_transfer() : draw_batch(now_s);
    }
    return draw_range(now_s);
  }
  return draw_line(now_s);
}

std::string StoreRequests::some_other() {
  return keys_.others[random_.below(keys_.others.size())];
}

std::uint32_t StoreRequests::some_expiry(std::uint64_t now_s) {
  const auto now = static_cast<std::uint32_t>(now_s);
  if (options_.expiry && one_in(2)) {
    return now + static_cast<std::uint32_t>(random_.below(4));
  }
  return one_in(2) ? 0 : now + kFarSeconds;
}

void StoreRequests::fill_in(CommandLine& line, std::uint64_t now_s) {
  switch (line.what) {
    case act::get:
      line.operand = next_number_ % 2;  // its reply has no cas
      break;
    case act::touch:
      line.expiry = some_expiry(now_s);
      break;
    case act::set:
    case act::add:
    case act::replace:
      line.operand = 10'000 * next_number_++;
      line.expiry = some_expiry(now_s);
      break;
    case act::remove:
      break;
    case act::count_up:
    case act::count_down:
      line.operand = 1 + random_.below(500);
      break;
    case act::append:
      line.operand = 1 + random_.below(9);
      break;
  }
}

CommandLine StoreRequests::some_line(std::uint64_t now_s) {
  CommandLine line;
  line.key = some_key();
  if (options_.bank) {
    line.what = one_in(4) ? act::touch : act::get;
    line.expiry = line.what == act::touch ? static_cast<std::uint32_t>(now_s) + kFarSeconds : 0;
    return line;
  }
  line.what = one_in(4) ? act::set : static_cast<act>(random_.below(8));
  fill_in(line, now_s);
  const bool may_compare = line.what == act::set || line.what == act::remove || line.what == act::count_up;
  if (may_compare && keys_.last_cas[line.key] != 0 && one_in(2)) {
    line.compare = keys_.last_cas[line.key];
  }
  return line;
}

StoreRequest StoreRequests::draw_line(std::uint64_t now_s) {
  StoreRequest request;
  CommandLine line = some_line(now_s);
  const bool classic_can = !line.compare || line.what == act::set;
  if (classic_can && one_in(3)) {
    request.text = classic_text(line, keys_);
    request.shape = line.what == act::get ? reply_shape::classic_value : reply_shape::line;
  } else {
    request.text = meta_text(line, keys_);
  }
  request.op.locked = line.what != act::get;
  request.op.lines.push_back(line);
  return request;
}

StoreRequest StoreRequests::draw_probe() {
  StoreRequest request;
  request.op.lines.push_back({.what = act::remove, .key = some_key(), .compare = 1});  // nothing has that cas
  request.text = meta_text(request.op.lines.front(), keys_);
  return request;
}

StoreRequest StoreRequests::draw_other() {
  StoreRequest request{.recorded = false};
  const std::string key = some_other();
  request.op.lines.push_back({});
  switch (random_.below(options_.bank ? 3 : 4)) {
    case 0:
      request.text = "md " + key + (one_in(4) ? " I\r\n" : "\r\n");  // or it is stale
      break;
    case 1:
      request.text = "mg " + key + " v\r\n";
      break;
    case 2:
      request.text = "ms " + key + " 1\r\nx\r\n";
      break;
    default:
      // All others of a key: whole leaves go.
      request.text = "mx " + key.substr(0, key.find(':') + 1) + "1 p" + (one_in(2) ? " X" : "") + "\r\n";
      break;
  }
  return request;
}

StoreRequest StoreRequests::draw_batch(std::uint64_t now_s) {
  StoreRequest request{.shape = reply_shape::batch};
  request.op.what = operation::batch;
  const std::uint64_t lines = 1 + random_.below(5);
  for (std::uint64_t n = 0; n < lines; ++n) {
    if (!keys_.others.empty() && one_in(12)) {
      request.op.lines.push_back({});
      const std::string other = some_other();
      // The second one fails if the item is there, or is not: the test does not know.
      request.text += one_in(2) ? "ms " + other + " 1\r\nx\r\n" : "ma " + other + "\r\n";
      continue;
    }
    request.op.lines.push_back(some_line(now_s));
    if (request.op.lines.back().what == act::replace || request.op.lines.back().what == act::add) {
      request.op.lines.back().what = one_in(3) ? request.op.lines.back().what : act::set;
    }
    request.text += meta_text(request.op.lines.back(), keys_);
  }
  request.text = "mb " + std::to_string(lines) + "\r\n" + request.text;
  return request;
}

// From one to others. The first line says whether there is anything to be moved; now and then in parts, or
// with a failing line behind the moves.
StoreRequest StoreRequests::draw_transfer() {
  StoreRequest request{.shape = reply_shape::batch};
  request.op.what = operation::batch;
  const std::uint8_t from = some_key();
  const std::uint64_t parts = 1 + random_.below(2);
  std::uint64_t all = 0;
  for (std::uint64_t n = 0; n < parts; ++n) {
    CommandLine to{.what = act::count_up, .key = some_key(), .operand = 1 + random_.below(3)};
    all += to.operand;
    request.op.lines.push_back(to);
  }
  CommandLine taken{.what = act::count_down, .key = from, .operand = all};
  if (keys_.last_cas[from] != 0 && one_in(3)) {
    taken.compare = keys_.last_cas[from];
  }
  request.op.lines.insert(request.op.lines.begin() + static_cast<std::ptrdiff_t>(random_.below(parts + 1)),
                          taken);
  if (one_in(6)) {
    request.op.lines.push_back({.what = act::add, .key = some_key(), .operand = 7});  // all are there
  }
  for (const CommandLine& line : request.op.lines) {
    request.text += meta_text(line, keys_);
  }
  request.text = "mb " + std::to_string(request.op.lines.size()) + "\r\n" + request.text;
  return request;
}

}  // namespace mxkv::simulation
