package kafka

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
)

// EnsureTopic makes the topic be there with at least this many partitions: it
// creates it with the settings of configs, or adds partitions. It never takes
// partitions away (ErrFewerPartitions), and never changes a setting of a topic that
// is there: what differs is a warning, what would lose or repeat events an error.
func (c *Client) EnsureTopic(ctx context.Context, name string, partitions int32, configs map[string]string) (TopicInfo, []string, error) {
	info, err := c.Topic(ctx, name)
	if errors.Is(err, ErrTopicMissing) {
		if err := c.createTopic(ctx, name, partitions, configs); err != nil {
			return TopicInfo{}, nil, err
		}
		info, err = c.awaitTopic(ctx, name)
	}
	if err != nil {
		return TopicInfo{}, nil, err
	}
	switch {
	case info.Partitions > partitions:
		return TopicInfo{}, nil, fmt.Errorf("%w: %s has %d, asked for are %d", ErrFewerPartitions, name, info.Partitions, partitions)
	case info.Partitions < partitions:
		resp, err := c.adm.UpdatePartitions(ctx, int(partitions), name)
		if err == nil {
			err = resp.Error()
		}
		if err != nil && !errors.Is(err, kerr.InvalidPartitions) { // another process was as fast
			return TopicInfo{}, nil, fmt.Errorf("kafka: add partitions to topic %s: %w", name, err)
		}
		if info, err = c.Topic(ctx, name); err != nil {
			return TopicInfo{}, nil, err
		}
	}
	warnings, err := CheckTopic(info, configs)
	return info, warnings, err
}

func (c *Client) createTopic(ctx context.Context, name string, partitions int32, configs map[string]string) error {
	values := make(map[string]*string, len(configs))
	for k, v := range configs {
		values[k] = &v
	}
	resp, err := c.adm.CreateTopic(ctx, partitions, -1, values, name)
	if err == nil {
		err = resp.Err
	}
	if err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
		if resp.ErrMessage != "" {
			err = fmt.Errorf("%w (%s)", err, resp.ErrMessage)
		}
		return fmt.Errorf("kafka: create topic %s with %d partitions: %w", name, partitions, err)
	}
	return nil
}

// awaitTopic waits until brokers know a topic that was created just now.
func (c *Client) awaitTopic(ctx context.Context, name string) (TopicInfo, error) {
	for {
		info, err := c.Topic(ctx, name)
		if !errors.Is(err, ErrTopicMissing) {
			return info, err
		}
		if err := sleep(ctx, retryPause); err != nil {
			return TopicInfo{}, fmt.Errorf("kafka: wait for topic %s: %w", name, err)
		}
	}
}

// CheckTopic judges the settings of a topic that holds events until they are
// stored. want are the settings that it should have.
func CheckTopic(info TopicInfo, want map[string]string) (warnings []string, err error) {
	var errs []error
	say := func(format string, args ...any) {
		warnings = append(warnings, fmt.Sprintf("topic "+info.Name+": "+format, args...))
	}
	if policy := info.Configs["cleanup.policy"]; strings.Contains(policy, "compact") {
		errs = append(errs, fmt.Errorf("kafka: topic %s: cleanup.policy is %s: compaction removes records that are not stored yet; set it to delete", info.Name, policy))
	}
	if info.Configs["unclean.leader.election.enable"] == "true" {
		errs = append(errs, fmt.Errorf("kafka: topic %s: unclean.leader.election.enable is true: acknowledged records can be lost; set it to false", info.Name))
	}
	isr, isrErr := strconv.Atoi(info.Configs["min.insync.replicas"])
	switch {
	case info.Replicas > 1 && isrErr == nil && isr < 2:
		errs = append(errs, fmt.Errorf("kafka: topic %s: min.insync.replicas is %d with %d replicas: one broker's loss can lose acknowledged records; set it to 2", info.Name, isr, info.Replicas))
	case info.Replicas == 1:
		say("it has one replica: the loss of a broker's disk loses what is not stored yet")
	}
	for key, value := range want {
		switch key {
		case "cleanup.policy", "unclean.leader.election.enable", "min.insync.replicas": // judged above
		case "max.message.bytes":
			wanted, _ := strconv.Atoi(value)
			if has := info.MaxMessageBytes(); has > 0 && has < wanted {
				say("max.message.bytes is %d, it should be %d: larger records become dead letters (too_large)", has, wanted)
			}
		default:
			if has, ok := info.Configs[key]; ok && has != value {
				say("%s is %s, it should be %s", key, has, value)
			}
		}
	}
	return warnings, errors.Join(errs...)
}

// CheckIntake judges the settings of a topic that producers write events to.
func CheckIntake(info TopicInfo) (warnings []string) {
	say := func(format string, args ...any) {
		warnings = append(warnings, fmt.Sprintf("topic "+info.Name+": "+format, args...))
	}
	if policy := info.Configs["cleanup.policy"]; strings.Contains(policy, "compact") {
		say("cleanup.policy is %s: compaction may remove records before they are read", policy)
	}
	if info.Configs["unclean.leader.election.enable"] == "true" {
		say("unclean.leader.election.enable is true: acknowledged records can be lost")
	}
	if info.Configs["message.timestamp.type"] == "LogAppendTime" {
		return warnings
	}
	after, ok := info.Configs["message.timestamp.after.max.ms"]
	if ms, err := strconv.ParseInt(after, 10, 64); !ok || err != nil || ms > maxAheadMS {
		say("message.timestamp.type is CreateTime and message.timestamp.after.max.ms is not at most %d: a producer's wrong clock can stop a partition until the time it claims; set LogAppendTime or that bound", maxAheadMS)
	}
	return warnings
}

// maxAheadMS is Kafka's own default for how far ahead of the broker's clock a
// record's CreateTime may be: an hour.
const maxAheadMS = 3_600_000

// MaxMessageBytes is the largest record batch that the topic takes; 0: unknown.
func (t TopicInfo) MaxMessageBytes() int {
	n, err := strconv.Atoi(t.Configs["max.message.bytes"])
	if err != nil {
		return 0
	}
	return n
}
