package router

import (
	"strconv"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/kafka"
)

// EnvelopeOverheadBytes is what the envelope adds to an intake record, at the most:
// its id once more, the longest cluster id, and what every envelope and record has.
const EnvelopeOverheadBytes = event.MaxID + event.MaxCluster + event.ItemOverhead + kafka.RecordOverheadBytes + 1<<10

// ShardTopicConfigs are the settings of a shard topic that takes whatever intake
// topics with this max.message.bytes hold. It needs no compaction, no unclean election,
// and two in-sync replicas where there are any (kafka.CheckTopic).
func ShardTopicConfigs(intakeMaxMessageBytes int, replicated bool) map[string]string {
	configs := map[string]string{
		"cleanup.policy":                 "delete",
		"unclean.leader.election.enable": "false",
		"max.message.bytes":              strconv.Itoa(intakeMaxMessageBytes + EnvelopeOverheadBytes),
	}
	if replicated {
		configs["min.insync.replicas"] = "2"
	}
	return configs
}
