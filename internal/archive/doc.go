// Package archive is the format of the kernel archive: many texts, the modules,
// compressed in groups, in one blob that a program embeds.
//
// It knows nothing of kernels or of PTX: a module is a name and bytes. Which
// modules share a group is the writer's choice; a group is decompressed as a
// whole, so what is used together belongs together.
//
// Start reading at [Build] and [Open]. An [Archive] is safe for concurrent use;
// it refers to the data it was opened on, which must not change. Data that is
// not a whole, unaltered archive of this version gives a [*FormatError] when
// it is opened, before anything is read from it.
//
// # Format
//
// Version 1. Integers are little-endian. An archive is a header of 64 bytes, an
// index and the groups, without gaps:
//
//	header   magic     8 bytes  "NCCLGOKA"
//	         version   uint32   1
//	         groups    uint32   number of groups
//	         modules   uint32   number of modules
//	         names     uint32   bytes of all names
//	         size      uint64   bytes of the archive
//	         sum      32 bytes  SHA-256 of the 32 bytes before and all after it
//	index    for each group:
//	           packed    uint32   bytes of its zstd frame
//	           unpacked  uint32   bytes of its modules
//	           crc       uint32   CRC-32C of its modules
//	         for each module, group by group:
//	           group     uint32   the group it is in
//	           bytes     uint32   its size
//	           name      uint32   bytes of its name
//	         the names, one after the other
//	groups   for each group one zstd frame (RFC 8878) of its modules, one after
//	         the other
//
// Equal input gives equal bytes.
package archive
