#pragma once

#include <string>
#include <string_view>

namespace acid {

// A store that processes on several hosts write to.

/// True for what statfs calls NFS, SMB, Lustre and the like: shared memory between hosts does not
/// work there, so a write-ahead log would corrupt the store.
bool is_network_file_system(long type);
/// The same of the file system that the folder is on.
bool is_on_network(const std::string& folder);

/// Makes a store's folder and the one for its checkpoints. Throws StoreError.
void make_store_folder(const std::string& folder);

/// From now on the store in this folder has no write-ahead log, which works on one host only. So it
/// stays, also for a host to which the folder is a local one: a store that was once opened over a
/// network is marked by itself. Makes the folder where it is missing.
void share_among_hosts(const std::string& folder);
/// Whether that has happened, or the folder is on a network file system.
bool is_shared_among_hosts(const std::string& folder);

/// Why processes on several hosts must not write to one store in this folder, as words after
/// "because": its file system keeps file locks to each host, or has none, and SQLite would damage
/// the store. Empty: nothing speaks against it. The folder, or its nearest parent that exists, is
/// looked at: its mount options, and a lock that one process holds and another must not get.
std::string why_locks_fail(const std::string& folder);

/// The same from a mount alone: its file system's type and options ("rw,nolock"), as
/// /proc/self/mountinfo names them.
std::string why_locks_fail(std::string_view type, std::string_view options);

}  // namespace acid
