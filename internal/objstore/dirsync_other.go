//go:build !linux

package objstore

import (
	"os"
	"syscall"
)

func folderIDOf(path string) (folderID, error) {
	info, err := os.Stat(path)
	if err != nil {
		return folderID{}, err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return folderID{}, nil
	}
	return folderID{inode: uint64(stat.Ino)}, nil
}
