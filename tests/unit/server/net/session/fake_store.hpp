// A store for tests of sessions: a std::map whose operations complete when the test says so, in any order in which
// the real store could complete them.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "protocol/reply.hpp"
#include "server/reply/connection_table.hpp"
#include "server/store/range/dump_progress.hpp"
#include "tests/unit/server/net/session/fake_values.hpp"

namespace mxkv::server::test {

class FakeStore final : public SessionStore {
 public:
  explicit FakeStore(ConnectionTable& replies) : directory(&replies) {}

  void point(runtime::Worker& worker, const protocol::PointRequest& request, ItemBuilder* value,
             const ReplyAddress& address, CommitSeq seq) override {
    if (value != nullptr) {
      store(worker, FakeValue{*value}, address, seq);
    } else if (request.terms.ordered) {
      mutate(request, address, seq);
    } else if (request.is_meta()) {
      meta_get(request.key, *request.flags, address);
    } else {
      get(request.key, request.end_line, address);
    }
  }

  void get(runtime::Worker& /*worker*/, std::span<const protocol::AskedKey> keys, bool /*with_cas*/,
           const ReplyAddress& first) override {
    most_together = std::max(most_together, keys.size());
    ReplyAddress address = first;
    for (const protocol::AskedKey& key : keys) {
      if (key.meta()) {
        meta_get(key.view(), protocol::kValueAlone, address);
      } else {
        get(key.view(), key.ends_line(), address);
      }
      ++address.ticket;
    }
  }

  void get(std::string_view key, bool end_line, const ReplyAddress& address) {
    add([this, name = std::string(key), end_line, address] {
      if (ReplyQueue* const replies = directory->find(address, Seen::nothing())) {
        if (const auto found = items.find(name); found != items.end()) {
          replies->append(address.ticket, "VALUE " + name + " 0 " + std::to_string(found->second.size()) +
                                              "\r\n" + found->second + "\r\n");
        }
        if (end_line) {
          replies->append(address.ticket, protocol::kEnd);
        }
        replies->close(address.ticket);
      }
      directory->finished(address);
    });
  }

  [[nodiscard]] bool makes_room(runtime::Worker& /*worker*/, shortage /*what*/,
                                RoomWait& /*wait*/) noexcept override {
    return room_is_made;
  }
  /// Replies with the value and the opaque, so that a test sees whose flags arrived.
  void meta_get(std::string_view key, const protocol::MetaFlags& flags, const ReplyAddress& address) {
    add([this, name = std::string(key), opaque = std::string(flags.opaque()), address] {
      const auto found = items.find(name);
      const std::string text = found == items.end() ? "EN O" + opaque + "\r\n"
                                                    : "VA " + std::to_string(found->second.size()) + " O" +
                                                          opaque + "\r\n" + found->second + "\r\n";
      directory->reply(address, Seen::nothing(), text);
      directory->finished(address);
    });
  }

  void mutate(const protocol::PointRequest& request, const ReplyAddress& address, CommitSeq seq) {
    if (request.is_meta()) {
      mutate_meta(request, address, seq);
      return;
    }
    add_write(address, seq, [this, op = request.op, key = std::string(request.key), delta = request.delta] {
      const auto found = items.find(key);
      if (found == items.end()) {
        return std::string{protocol::kNotFound};
      }
      if (op == protocol::verb::remove) {
        items.erase(found);
        return std::string{protocol::kDeleted};
      }
      found->second = std::to_string(std::strtoull(found->second.c_str(), nullptr, 10) + delta);
      return found->second + "\r\n";
    });
  }

  [[nodiscard]] std::size_t set(runtime::Worker& worker, std::span<const protocol::SentValue> values,
                                const ReplyAddress& first, CommitSeq seq) override {
    ReplyAddress address = first;
    std::size_t taken = 0;
    most_sets = std::max(most_sets, values.size());
    for (; taken < std::min(values.size(), sets_with_memory); ++taken, ++seq, ++address.ticket) {
      Item* const item = Item::create_whole(worker, values[taken].key(), values[taken].value());
      if (item == nullptr) {
        break;
      }
      store(worker, FakeValue{*item, values[taken].meta}, address, seq);
    }
    return taken;
  }
  void store(runtime::Worker& worker, FakeValue sent, const ReplyAddress& address, CommitSeq seq) {
    add_write(address, seq, [this, &worker, built = std::move(sent)]() mutable {
      std::string& value = items[built.name()];
      value = built.op == protocol::verb::append ? value + built.text() : built.text();
      built.release(worker);
      return built.op == protocol::verb::meta_set ? "HD O" + built.opaque + "\r\n"
                                                  : std::string{protocol::kStored};
    });
  }

  void range(runtime::Worker& /*worker*/, const protocol::Request& request,
             const ReplyAddress& address) override {
    const bool removes = request.op == protocol::verb::meta_range_delete;
    add([this, removes, low = std::string(request.range.low.key), address] {
      if (removes) {
        const auto from = items.lower_bound(low);
        directory->reply(address, Seen::nothing(),
                         "HD A" + std::to_string(std::distance(from, items.end())) + "\r\n");
        items.erase(from, items.end());
      } else if (ReplyQueue* const replies = directory->find(address, Seen::nothing())) {
        for (auto item = items.lower_bound(low); item != items.end(); ++item) {
          replies->append(address.ticket, "KEY " + item->first + "\r\n");
        }
        replies->append(address.ticket, protocol::kEnd);
        replies->close(address.ticket);
      }
      directory->finished(address);
    });
  }

  [[nodiscard]] std::unique_ptr<ReceivedBatch> begin_batch(std::uint32_t lines) override {
    return std::make_unique<FakeBatch>(lines);
  }
  /// Executes all lines or none. Arithmetic on a missing key fails.
  void batch(runtime::Worker& worker, std::unique_ptr<ReceivedBatch> batch,
             const ReplyAddress& address) override {
    add([this, &worker, taken = std::shared_ptr<FakeBatch>(static_cast<FakeBatch*>(batch.release())),
         address] {
      std::map<std::string, std::string> after = items;
      std::string text;
      std::size_t number = 0;
      for (const FakeBatch::Line& line : taken->lines) {
        ++number;
        const std::string answer = run_line(line, after);
        if (line.op == protocol::verb::meta_arithmetic && answer.starts_with("NF")) {
          text = "EX " + std::to_string(number) + " " + answer;
          break;
        }
        text += answer;
      }
      if (!text.starts_with("EX ")) {
        text += "HD\r\n";
        items = std::move(after);
      }
      taken->abandon(worker);
      directory->reply(address, Seen::nothing(), text);
      directory->finished(address);
    });
  }

  /// A page has one key.
  void dump(runtime::Worker& /*worker*/, DumpProgress& progress, const ReplyAddress& address) override {
    add([this, &progress, address] {
      ReplyQueue* const replies = directory->find(address, Seen::nothing());
      const auto item =
          progress.from().empty() ? items.begin() : items.upper_bound(std::string(progress.from()));
      if (replies != nullptr) {
        replies->append(address.ticket, item == items.end() ? "END\r\n" : "key=" + item->first + "\n");
        replies->close(address.ticket);
      }
      if (item != items.end()) {
        progress.count_line();
        progress.note(item->first);
      }
      progress.end_page(item == items.end() || replies == nullptr);
      directory->finished(address);
    });
  }

  void sampled(runtime::Worker& /*worker*/, std::string_view key, bool gets) override {
    sample.emplace_back(key);
    sampled_gets += gets ? 1 : 0;
  }
  void count_too_large(runtime::Worker& /*worker*/) noexcept override {}
  void count_no_memory(runtime::Worker& /*worker*/) noexcept override {}

  bool flush_all(runtime::Worker& /*worker*/, std::int64_t /*delay*/, const ReplyAddress& address,
                 protocol::BinaryForm /*form*/) override {
    add([this, address] {
      items.clear();
      directory->reply(address, Seen::nothing(), protocol::kOk);
      directory->finished(address);
    });
    return true;
  }

  /// Runs one pending operation, chosen at random.
  bool step(std::mt19937& random) {
    if (pending.empty()) {
      return false;
    }
    const std::size_t i = random() % pending.size();
    const std::function<void()> run = std::move(pending[i]);
    pending.erase(pending.begin() + static_cast<std::ptrdiff_t>(i));
    run();
    return true;
  }

  ConnectionTable* directory;
  bool room_is_made = false;  ///< a session without memory tries again
  bool immediate = false;     ///< operations complete before their start returns
  std::map<std::string, std::string> items;
  std::vector<std::function<void()>> pending;
  std::size_t most_pending = 0;
  std::size_t most_sets = 0;                       ///< that started together
  std::size_t sets_with_memory = ~std::size_t{0};  ///< how many sets of one call find memory
  std::size_t most_together = 0;                   ///< the largest number of gets in one call
  std::vector<std::string> sample;                 ///< keys of sampled requests
  std::size_t sampled_gets = 0;                    ///< of these, requests that read the item

 private:
  static std::string run_line(const FakeBatch::Line& line, std::map<std::string, std::string>& among) {
    const std::string opaque = line.opaque.empty() ? "\r\n" : " O" + line.opaque + "\r\n";
    if (line.op == protocol::verb::meta_set) {
      among[line.name] = line.value;
      return "HD" + opaque;
    }
    const auto found = among.find(line.name);
    if (line.op == protocol::verb::meta_get) {
      return found == among.end()
                 ? "EN\r\n"
                 : "VA " + std::to_string(found->second.size()) + opaque + found->second + "\r\n";
    }
    if (found == among.end()) {
      return "NF" + opaque;
    }
    if (line.op == protocol::verb::meta_delete) {
      among.erase(found);
    } else {
      found->second = std::to_string(std::strtoull(found->second.c_str(), nullptr, 10) + line.delta);
    }
    return "HD" + opaque;
  }

  void add(std::function<void()> run) {
    if (immediate) {
      run();
      return;
    }
    pending.push_back(std::move(run));
    most_pending = std::max(most_pending, pending.size());
  }

  /// md and ma; the replies have the opaque, too.
  void mutate_meta(const protocol::PointRequest& request, ReplyAddress address, CommitSeq seq) {
    add_write(address, seq, [this, op = request.op, key = std::string(request.key), meta = *request.flags] {
      const auto found = items.find(key);
      const std::string opaque = " O" + std::string(meta.opaque()) + "\r\n";
      if (found == items.end()) {
        return "NF" + opaque;
      }
      if (op == protocol::verb::meta_delete) {
        items.erase(found);
      } else {
        found->second = std::to_string(std::strtoull(found->second.c_str(), nullptr, 10) + meta.delta);
      }
      return "HD" + opaque;
    });
  }

  void add_write(ReplyAddress address, CommitSeq seq, std::function<std::string()> apply) {
    add([this, address, seq, apply = std::move(apply)] {
      if (!directory->commit_turn(address, seq)) {
        add_write(address, seq, apply);  // as if parked and spawned again
        return;
      }
      directory->reply(address, Seen::nothing(), apply());
      directory->finished_write(address, seq);
    });
  }
};

}  // namespace mxkv::server::test
