package doctor

import "syscall"

// memlock is RLIMIT_MEMLOCK, which package syscall does not name.
//
// Source: getrlimit(2); include/uapi/asm-generic/resource.h of Linux.
const memlock = 8

// limits asks the system; what is not known is -1.
func limits() Limits {
	l := Limits{Memlock: -1, SharedBytes: -1}
	var limit syscall.Rlimit
	// An unlimited one has all bits set.
	if err := syscall.Getrlimit(memlock, &limit); err == nil && int64(limit.Cur) >= 0 {
		l.Memlock = int64(limit.Cur)
	}
	var shm syscall.Statfs_t
	if err := syscall.Statfs("/dev/shm", &shm); err == nil {
		l.SharedBytes = int64(shm.Blocks) * shm.Bsize
	}
	return l
}
