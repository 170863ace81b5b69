// A small store whose workers and clients a test drives step by step.
#pragma once

#include <sys/uio.h>

#include <array>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/simulation/store_client.hpp"
#include "tests/unit/scheduler/machine.hpp"

namespace mxkv::simulation {

[[nodiscard]] inline server::StoreOptions one_bucket() {
  server::StoreOptions options;
  options.toggle = {.buckets = 1, .slots_per_bucket = 3};
  return options;
}

/// Two workers, of which the first hosts all slots, and a client of each.
struct Yard {
  explicit Yard(const server::StoreOptions& options = one_bucket())
      : Yard(options, runtime::testing::unpinned(2)) {}
  Yard(const server::StoreOptions& options, const runtime::RuntimeOptions& how)
      : machine(how), store(machine.runtime, options) {
    for (std::size_t i = 0; i < 2; ++i) {
      replies.emplace_back(machine[i], machine.runtime.budget());
      store.context(machine[i].id()).replies = &replies[i].directory;
    }
    machine.run_until_idle();
    for (std::size_t i = 0; i < 2; ++i) {
      clients.emplace_back(machine[i], store, replies[i].directory, reader, record);
    }
  }
  ~Yard() {
    receive();
    for (StoreClient& client : clients) {
      client.leave();
    }
    machine.runtime.drain_stopped();
  }

  void draw(std::vector<std::string> separators, std::uint64_t items) {
    store.locks().slots.replace(std::make_unique<server::KeyPartition::Map>(std::move(separators)), items,
                                machine[0]);
    store.locks().toggle.map_changed();
  }
  void send(std::size_t client, const std::string& text, reply_shape shape, Operation op) {
    clients[client].send({.text = text, .shape = shape, .op = std::move(op)});
  }
  /// A request outside of the history.
  void ask(std::size_t client, const std::string& text, reply_shape shape) {
    StoreRequest request{.text = text, .shape = shape, .recorded = false};
    request.op.lines.push_back({});
    clients[client].send(std::move(request));
  }
  void set(std::size_t client, const std::string& key) {
    Operation op;
    op.lines.push_back({.what = act::set});
    send(client, "set " + key + " 0 0 1\r\n1\r\n", reply_shape::line, std::move(op));
  }
  void receive() {
    for (StoreClient& client : clients) {
      client.receive();
      client.go_on();
    }
    for (server::WorkerReplies& own : replies) {
      while (own.directory.next_dirty() != nullptr) {
      }
    }
  }
  void run() {
    machine.run_until_idle();
    receive();
  }

  runtime::testing::Machine machine;
  server::Store store;
  StoreKeys keys{2, 0, 0};
  StoreReplies reader{keys};
  StoreHistory history{keys.begin(), false};
  Complaints complaints;
  Bells bells;
  runtime::Random random{1};
  Stepper stepper{machine.runtime, machine.clock, random, bells, complaints, 0, false};
  StoreRecord record{history, stepper, machine.clock};
  std::deque<server::WorkerReplies> replies;
  std::deque<StoreClient> clients;
};

/// The first client's replies since the last call.
inline std::string said(Yard& yard) {
  std::string text;
  std::array<iovec, 3> pieces;
  server::OutputBuffer& output = yard.clients[0].entries().front()->replies.output();
  while (const std::size_t count = output.gather(pieces)) {
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < count; ++i) {
      text.append(static_cast<const char*>(pieces[i].iov_base), pieces[i].iov_len);
      bytes += pieces[i].iov_len;
    }
    output.consume(bytes);
  }
  return text;
}

/// Asks for the first client, and returns the reply.
inline std::string asked(Yard& yard, const std::string& text) {
  yard.ask(0, text, reply_shape::line);
  yard.machine.run_until_idle();
  return said(yard);
}

}  // namespace mxkv::simulation
