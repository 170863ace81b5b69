#include "server/feed/durable_tail.hpp"

#include "server/durability/manifest.hpp"

namespace mxkv::server {

std::unique_ptr<JournalTail> tail_of(Durability& durability) {
  if (!durability.manifest_is_kept()) {
    return nullptr;
  }
  const Manifest manifest = durability.manifest();
  const CommitEpochs& epochs = durability.epochs();
  return std::make_unique<JournalTail>(durability.disk(),
                                       TailOptions{.folder = kJournalDirectory,
                                                   .directory = manifest.directory,
                                                   .lineage = manifest.lineage,
                                                   .durable = [&epochs] { return epochs.durable(); },
                                                   .closed = [&epochs] { return epochs.current() - 1; }});
}

}  // namespace mxkv::server
