# To be sourced at the project's root: gets the servers that tests and `make chaos` run
# against, if they are not there, and says where they are. versitygw is built from its
# module; Apache Kafka's jars come from Maven Central.
mkdir -p bin .cache
if [[ -z ${TOGO_VERSITYGW:-} ]]; then
	(cd tools/versitygw && CGO_ENABLED=0 go build -o "$PWD/../../bin/versitygw" github.com/versity/versitygw/cmd/versitygw)
	export TOGO_VERSITYGW=$PWD/bin/versitygw
fi
if [[ -z ${TOGO_KAFKA_LIBS:-} ]]; then
	export TOGO_KAFKA_LIBS=$PWD/.cache/kafka-$(cksum <tools/kafka/pom.xml | cut -d' ' -f1)
	# Whole or not there: a folder that was cut short is not taken for Kafka.
	if [[ ! -d $TOGO_KAFKA_LIBS ]]; then
		rm -rf .cache/kafka.part
		mvn -q -B -f tools/kafka/pom.xml dependency:copy-dependencies -Dlibs="$PWD/.cache/kafka.part"
		mv .cache/kafka.part "$TOGO_KAFKA_LIBS"
	fi
fi
