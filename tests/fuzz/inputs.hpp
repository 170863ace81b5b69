// The fuzzers' checks of one input. The same functions run over the seeds in every build.
#pragma once

#include <string>
#include <string_view>

namespace mxkv::fuzz {

/// The first byte says how the rest is cut into pieces; the pieces must give what the whole gives. Returns
/// the difference, empty if there is none.
[[nodiscard]] std::string check_parser_input(std::string_view input);

/// A text that is read as a cursor must be the text that is written for that cursor. Returns the fault.
[[nodiscard]] std::string check_cursor_input(std::string_view input);

/// A text that is read as a position in the log of changes must be the text that is written for that position.
/// Returns the fault.
[[nodiscard]] std::string check_position_input(std::string_view input);

/// Key and flags of a meta command, for all of them: a request that is read must be read again from the text
/// that is written for it. Returns the fault.
[[nodiscard]] std::string check_meta_input(std::string_view input);

/// Bytes to be written as base64, and maybe base64 themselves: reading and writing are inverse. Returns the
/// fault.
[[nodiscard]] std::string check_base64_input(std::string_view input);

/// The text of a configuration; its first line is an assignment of the command line, too. Either gives
/// options that are printed as a file which gives the same options, or findings that say where and what. The
/// same holds for it as a file of users. Returns the fault.
[[nodiscard]] std::string check_config_input(std::string_view input);

/// A client's bytes, behind two bytes that say how they are cut and to what kind of server they go. The
/// client must get one well-formed reply for each request, in their order; the same however the stream is
/// cut; and all memory must come back. Returns the fault.
[[nodiscard]] std::string check_connection_input(std::string_view input);

/// The same for a client of the binary protocol. Behind these two bytes are descriptions of its requests, or,
/// if the second byte says so, the requests themselves.
[[nodiscard]] std::string check_binary_input(std::string_view input);

/// The first byte says what the rest is taken for: records, payloads of a group, a segment's file, or changes
/// to a journal that was whole. It is read or refused, and never more than its length is kept. Returns the
/// fault.
[[nodiscard]] std::string check_journal_input(std::string_view input);

/// Messages of a shard's log, as bytes and as a log that the bytes describe. Returns the fault.
[[nodiscard]] std::string check_message_input(std::string_view input);

/// A file for an import: its items, or a failure that says where. The items are read again from the files
/// that are written for them, in both forms. Returns the fault.
[[nodiscard]] std::string check_import_input(std::string_view input);

/// The steps of a peer by TLS; the first byte says which side it is. Returns the first flaw, or nothing.
[[nodiscard]] std::string check_tls_input(std::string_view input);

}  // namespace mxkv::fuzz
