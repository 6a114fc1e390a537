package objstore

import (
	"os"

	"golang.org/x/sys/unix"
)

func folderIDOf(path string) (folderID, error) {
	var stat unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, path, 0, unix.STATX_INO|unix.STATX_BTIME, &stat)
	if err != nil {
		return folderID{}, &os.PathError{Op: "statx", Path: path, Err: err}
	}
	id := folderID{inode: stat.Ino}
	if stat.Mask&unix.STATX_BTIME != 0 {
		id.birth = stat.Btime.Sec*1e9 + int64(stat.Btime.Nsec)
	}
	return id, nil
}
