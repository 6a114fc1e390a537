// Package idseg is the format of id segments.
package idseg
